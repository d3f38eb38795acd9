import warnings

for _ in range(2):
    warnings.warn("once per place", UserWarning)
warnings.warn("shown in main", DeprecationWarning)
warnings.simplefilter("error")
warnings.warn("raised")
