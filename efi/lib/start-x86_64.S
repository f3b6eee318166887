/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry point: relocates the image to where firmware put it, then calls efi_main(image, system table). Firmware
 * passes its two arguments in rcx and rdx and wants rdi and rsi back; the code behind follows System V. */
	.section .text.start, "ax", @progbits
	.global _start
	.type _start, @function
_start:
	pushq	%rdi
	pushq	%rsi
	pushq	%rbx
	pushq	%rbp
	movq	%rcx, %rbx
	movq	%rdx, %rbp
	subq	$8, %rsp		/* calls see a stack aligned to 16 bytes */
	leaq	image_base(%rip), %rdi
	leaq	_DYNAMIC(%rip), %rsi
	movq	%rbx, %rdx
	movq	%rbp, %rcx
	call	_relocate
	testq	%rax, %rax
	jnz	1f
	movq	%rbx, %rdi
	movq	%rbp, %rsi
	call	efi_main
1:	addq	$8, %rsp
	popq	%rbp
	popq	%rbx
	popq	%rsi
	popq	%rdi
	ret
	.size _start, . - _start
	.section .note.GNU-stack, "", @progbits
