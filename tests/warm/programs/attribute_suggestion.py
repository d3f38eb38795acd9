class Thing:
    colour = "red"


Thing().color
