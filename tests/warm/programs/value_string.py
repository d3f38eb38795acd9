# value: "tab\t quote\" back\\ nul\u0000 del\u007f \u2029 \ud83d\ude00"
"tab\t quote\" back\\ nul\0 del\x7f \u2029 \U0001f600"
