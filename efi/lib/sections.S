/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that must have sections of its own in the finished image. */

/* Firmware refuses to move an image without base relocations. Ours relocates itself, so one block with one entry
 * of type "none" is all there is. */
	.section .reloc, "a"
	.long	0		/* page */
	.long	12		/* size of the block */
	.short	0, 0		/* type 0: skip; padded to a multiple of 4 */

/* Secure Boot Advanced Targeting: component, generation, vendor, package, version, address (shim, SBAT.md). */
	.section .sbat, "a"
	.ascii	"sbat,1,SBAT Version,sbat,1,https://github.com/rhboot/shim/blob/main/SBAT.md\n"
	.ascii	"granule,1,The granule developers,granule," GRANULE_VERSION ",mailto:maintainers@granule.invalid\n"

	.section .note.GNU-stack, ""
