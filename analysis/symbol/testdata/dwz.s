# What dwz -m leaves of a program: names are strings of another file, and an
# inlined function is described in another file. The functions must still be
# named, with the help of the symbol table, and have lines.
	.file 1 "dwz.c"
	.text
.Ltext:
	.globl	outer
	.type	outer, @function
outer:
	.loc 1 10
	nop
.Linlined:
	.loc 1 3
	nop
.Linlined_end:
	.loc 1 11
	ret
	.size	outer, .-outer
.Ltext_end:

	.section	.debug_abbrev,"",@progbits
	.uleb128 1		# compile unit
	.uleb128 0x11
	.byte	1
	.uleb128 0x03, 0x1f21	# name: strp_alt
	.uleb128 0x13, 0x0b	# language
	.uleb128 0x10, 0x17	# stmt_list
	.uleb128 0x11, 0x01	# low_pc
	.uleb128 0x12, 0x07	# high_pc
	.uleb128 0, 0
	.uleb128 2		# subprogram
	.uleb128 0x2e
	.byte	1
	.uleb128 0x03, 0x1f21	# name: strp_alt
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0, 0
	.uleb128 3		# inlined subroutine
	.uleb128 0x1d
	.byte	0
	.uleb128 0x31, 0x1f20	# abstract_origin: ref_alt
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x07
	.uleb128 0x58, 0x0b	# call_file
	.uleb128 0x59, 0x0b	# call_line
	.uleb128 0, 0
	.uleb128 4		# imported unit
	.uleb128 0x3d
	.byte	0
	.uleb128 0x18, 0x1f20	# import: ref_alt
	.uleb128 0, 0
	.byte	0

	.section	.debug_info,"",@progbits
	.long	.Lend - .Lstart
.Lstart:
	.value	4
	.long	.debug_abbrev
	.byte	8
	.uleb128 1
	.long	0x1234
	.byte	0xc
	.long	.debug_line
	.quad	.Ltext
	.quad	.Ltext_end - .Ltext
	.uleb128 4
	.long	0x10
	.uleb128 2
	.long	0x5678
	.quad	outer
	.quad	.Ltext_end - outer
	.uleb128 3
	.long	0x20
	.quad	.Linlined
	.quad	.Linlined_end - .Linlined
	.byte	1
	.byte	10
	.byte	0
	.byte	0
.Lend:
	.section	.debug_line,"",@progbits
	.section	.gnu_debugaltlink,"",@progbits
	.asciz	"/nonexistent"
	.fill	20
