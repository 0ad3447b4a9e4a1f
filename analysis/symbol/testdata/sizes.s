# Symbols as in hand-written assembly: without sizes, nested, with several
# names, and with gaps between them.
	.text
	.globl	sized, whole, nameless_tail
	.type	sized, @function
sized:
	nop
	nop
	.size	sized, .-sized
	nop		# belongs to nothing
	.type	whole, @function
whole:
	nop
	.type	nested, @function
nested:
	nop
	.size	nested, .-nested
	nop
	.size	whole, .-whole
	.type	first, @function
first:
	nop
	nop
	.globl	__second, _second, second
	.type	__second, @function
	.type	_second, @function
	.type	second, @function
	.weak	a_second
	.type	a_second, @function
__second:
_second:
second:
a_second:
	nop
	.size	__second, 1
	.size	_second, 1
	.size	second, 1
	.size	a_second, 1
	.type	nameless_tail, @function
nameless_tail:
	nop
	nop
