/* Runs the part of a test program that may be in a shared library. */
void run(void);

int main(void)
{
	run();
	return 0;
}
