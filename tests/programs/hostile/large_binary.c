/* Attacks the reader of a compiler's output: a program of 120 MB. */
static volatile char large[120 << 20] = { 1 };

int main(void)
{
	return large[0] - 1;
}
