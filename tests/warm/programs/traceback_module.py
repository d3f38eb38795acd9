import sys
import traceback

try:
    {}[1]
except KeyError:
    traceback.print_exc()
    print(traceback.format_exc(), sys.exc_info()[2].tb_frame.f_back)
