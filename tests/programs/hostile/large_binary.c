/* Attacks whoever takes over what a compiler made: a program of 120 MB. */
static volatile char large[120 << 20] = { 1 };

int main(void)
{
	return large[0] - 1;
}
