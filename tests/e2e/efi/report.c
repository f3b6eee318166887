/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for an entry, in place of a kernel: prints what the boot manager left behind for the kernel, as
 * lines of hexadecimal that a test reads, and comes back. */
#include "program.h"

#define PER_LINE 32 /* bytes; the console breaks lines at 80 columns */
#define PCRS 24
#define LOG_TCG2 2
/* Behind the address of the last event: more than any event of the tests has. */
#define LAST_EVENT_MAX 4096

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID tcg2_guid = {
	0x607f766c, 0x7455, 0x42be, { 0x93, 0x0b, 0xe4, 0xd7, 0x6d, 0xb2, 0x72, 0x0f }
};
static EFI_GUID seed_table_guid = {
	0x1ce1e5bc, 0x7ceb, 0x42f2, { 0x81, 0xe5, 0x8a, 0xad, 0xf1, 0x80, 0xf5, 0x7b }
};

static EFI_GUID shim_lock_guid = {
	0x605dab50, 0xe046, 0x4300, { 0xab, 0xb6, 0x3d, 0xd8, 0x10, 0xdd, 0x8b, 0x23 }
};

struct tcg2 {
	VOID *get_capability;
	EFI_STATUS(EFIAPI *get_event_log)
	(struct tcg2 *self, UINT32 format, EFI_PHYSICAL_ADDRESS *ret, EFI_PHYSICAL_ADDRESS *ret_last,
	 BOOLEAN *ret_truncated);
	VOID *hash_log_extend;
	EFI_STATUS(EFIAPI *submit)
	(struct tcg2 *self, UINT32 in_size, const UINT8 *in, UINT32 out_size, UINT8 *out);
};

static void print_bytes(const char *mark, UINT64 number, const UINT8 *bytes, UINTN n)
{
	UINTN at = 0;

	do {
		char line[120];
		struct text t = text_in(line, sizeof(line));

		text_add(&t, SPAN("@@"));
		text_add(&t, span_of(mark));
		text_add(&t, SPAN(" "));
		text_add_number(&t, number, 1);
		text_add(&t, SPAN(" "));
		for (UINTN k = 0; k < PER_LINE && at < n; k++, at++) {
			char hex[2] = { "0123456789abcdef"[bytes[at] >> 4],
					"0123456789abcdef"[bytes[at] & 15] };
			text_add(&t, (struct span){ hex, 2 });
		}
		text_add(&t, SPAN("\r\n"));
		program_print(text_span(&t));
	} while (at < n);
}

/* TPM2_PCR_Read of one register of the SHA-256 bank (TPM 2.0 Library, part 3, 22.4). */
static void print_register(struct tcg2 *tpm, UINT32 pcr)
{
	UINT8 command[20] = {
		0x80, 0x01, 0, 0, 0, sizeof(command), 0, 0, 0x01, 0x7e, 0, 0, 0, 1, 0, 0x0b, 3
	};
	UINT8 answer[128] = { 0 };

	command[17 + pcr / 8] = (UINT8)(1u << pcr % 8);
	if (!EFI_ERROR(tpm->submit(tpm, sizeof(command), command, sizeof(answer), answer)))
		print_bytes("PCR", pcr, answer + 30, 32);
}

static void print_tpm(void)
{
	EFI_PHYSICAL_ADDRESS log = 0, last = 0;
	BOOLEAN truncated = FALSE;
	struct tcg2 *tpm;

	if (EFI_ERROR(BS->LocateProtocol(&tcg2_guid, NULL, (VOID **)&tpm)))
		return;
	if (!EFI_ERROR(tpm->get_event_log(tpm, LOG_TCG2, &log, &last, &truncated)) && log && !truncated)
		print_bytes("LOG", last - log, (const UINT8 *)(UINTN)log, last - log + LAST_EVENT_MAX);
	for (UINT32 pcr = 0; pcr < PCRS; pcr++)
		print_register(tpm, pcr);
}

/* What firmware itself says of a program that the test put there. */
static void print_probe(EFI_HANDLE image)
{
	EFI_LOADED_IMAGE *loaded;
	EFI_HANDLE probe = NULL;

	if (EFI_ERROR(BS->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded)))
		return;
	EFI_STATUS status =
		BS->LoadImage(FALSE, image, efi_device_path_of_file(loaded->DeviceHandle, SPAN("/probe.efi")),
			      NULL, 0, &probe);
	if (status != EFI_NOT_FOUND)
		print_bytes("PROBE", (UINT64)(status & 0xff), NULL, 0);
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
	InitializeLib(image, table);
	program_print(SPAN("\r\n@@BEGIN\r\n"));
	for (UINTN i = 0; i < ST->NumberOfTableEntries; i++) {
		const UINT8 *p = ST->ConfigurationTable[i].VendorTable;

		if (!CompareGuid((EFI_GUID *)&ST->ConfigurationTable[i].VendorGuid, &seed_table_guid))
			print_bytes("SEED", read_le32(p), p + 4, read_le32(p));
	}
	print_tpm();
	print_probe(image);
	VOID *lock;
	if (!EFI_ERROR(BS->LocateProtocol(&shim_lock_guid, NULL, &lock)))
		program_print(SPAN("@@SHIM 1\r\n"));
	program_print(SPAN("@@END\r\n"));
	return EFI_ABORTED;
}
