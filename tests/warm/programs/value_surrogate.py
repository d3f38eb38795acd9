# value: absent
"\ud800"
