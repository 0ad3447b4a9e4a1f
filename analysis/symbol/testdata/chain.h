#include "probe.h"

static INLINE void in_header(int line1)
{
	probe("in_header|calls_header", __FILE__ "|chain.c", __LINE__, line1, 0); __asm__ volatile("");
}
