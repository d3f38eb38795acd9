import io
import sys

real = sys.stdout
sys.stdout = io.StringIO()
print("captured")
text = sys.stdout.getvalue()
real.write(text.upper())
sys.stdout = None
print("nowhere")
