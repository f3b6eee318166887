/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry point: relocates the image to where firmware put it, then calls efi_main(image, system table). */
	.section .text.start, "ax", %progbits
	.global _start
	.type _start, %function
_start:
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x2, x0
	mov	x3, x1
	adrp	x0, image_base
	add	x0, x0, :lo12:image_base
	adrp	x1, _DYNAMIC
	add	x1, x1, :lo12:_DYNAMIC
	bl	_relocate
	cbnz	x0, 1f
	ldp	x0, x1, [sp, #16]
	bl	efi_main
1:	ldp	x29, x30, [sp], #32
	ret
	.size _start, . - _start
	.section .note.GNU-stack, "", %progbits
