# value: absent
{1: "keys must be strings"}
