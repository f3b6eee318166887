/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <granule/sha256.h>

#include "efi_files.h"
#include "efi_random_seed.h"
#include "efi_trust.h"
#include "efi_vars.h"

#define SEED_PATH SPAN("/loader/random-seed")
#define SEED_MIN SHA256_SIZE /* a shorter one holds too little to start a generator with */
#define SEED_MAX (64u << 10)

/* Linux, include/linux/efi.h: the kernel takes the seed from this configuration table. */
static EFI_GUID seed_table_guid = {
	0x1ce1e5bc, 0x7ceb, 0x42f2, { 0x81, 0xe5, 0x8a, 0xad, 0xf1, 0x80, 0xf5, 0x7b }
};

struct seed_table {
	UINT32 size;
	UINT8 bytes[];
};

static EFI_GUID rng_guid = EFI_RNG_PROTOCOL_GUID;

/* Each input with its length in front, so that two inputs never run into each other. */
static void mix(struct sha256 *h, const void *data, size_t n)
{
	UINT64 length = n;

	sha256_add(h, &length, sizeof(length));
	sha256_add(h, data, n);
}

static struct seed_table *find_table(void)
{
	for (UINTN i = 0; i < ST->NumberOfTableEntries; i++) {
		const EFI_CONFIGURATION_TABLE *t = &ST->ConfigurationTable[i];

		if (!CompareGuid((EFI_GUID *)&t->VendorGuid, &seed_table_guid))
			return t->VendorTable;
	}
	return NULL;
}

/* What does not come from the disk. True if it is enough alone: then a disk image that was copied to many
 * machines gives each one another seed. */
static BOOLEAN mix_machine(struct sha256 *h)
{
	UINT8 random[SEED_MIN] = { 0 };
	EFI_RNG_PROTOCOL *rng;
	BOOLEAN good = FALSE;
	UINT64 count = 0;
	EFI_TIME now;

	struct seed_table *before = find_table();
	mix(h, before ? before->bytes : NULL, before ? before->size : 0);
	good = before && before->size >= SEED_MIN;

	if (!EFI_ERROR(BS->LocateProtocol(&rng_guid, NULL, (VOID **)&rng)) &&
	    !EFI_ERROR(rng->GetRNG(rng, NULL, sizeof(random), random))) {
		mix(h, random, sizeof(random));
		good = TRUE;
	}
	wipe(random, sizeof(random));

	UINTN size = 0;
	UINT8 *token = efi_var_get_bytes(&efi_loader_guid, L"LoaderSystemToken", &size);
	mix(h, token, size);
	/* Whoever can write the partition must not choose the seed where Secure Boot is on; elsewhere the
	 * token of this machine is enough. */
	good = good || (size >= SEED_MIN && !efi_secure_boot());
	if (token)
		wipe(token, size);
	efi_free(token);

	/* These are no secrets, but differ from boot to boot even if the file should not. */
	if (EFI_ERROR(BS->GetNextMonotonicCount(&count)))
		count = 0;
	mix(h, &count, sizeof(count));
	BS->SetMem(&now, sizeof(now), 0);
	if (!EFI_ERROR(RT->GetTime(&now, NULL)))
		mix(h, &now, sizeof(now));
	return good;
}

static void derive(const UINT8 *key, UINT8 purpose, UINT8 *ret)
{
	struct sha256 h;

	sha256_start(&h);
	sha256_add(&h, key, SHA256_SIZE);
	sha256_add(&h, &purpose, 1);
	sha256_finish(&h, ret);
}

/* Over the old content and no further: neither the directory nor the table of clusters changes. What a longer
 * file has behind the new seed becomes zeros. */
static EFI_STATUS write_back(EFI_FILE_HANDLE file, UINT8 *bytes, UINTN size)
{
	UINTN written = size;
	EFI_STATUS status = file->SetPosition(file, 0);

	if (!EFI_ERROR(status))
		status = file->Write(file, &written, bytes);
	if (!EFI_ERROR(status) && written != size)
		status = EFI_VOLUME_FULL;
	if (!EFI_ERROR(status))
		status = file->Flush(file);
	return status;
}

static EFI_STATUS hand_out(const UINT8 *seed)
{
	struct seed_table *old = find_table(), *table;
	/* Memory that the kernel keeps until it has read the table. */
	EFI_STATUS status =
		BS->AllocatePool(EfiACPIReclaimMemory, sizeof(*table) + SHA256_SIZE, (VOID **)&table);

	if (EFI_ERROR(status))
		return status;
	table->size = SHA256_SIZE;
	BS->CopyMem(table->bytes, (VOID *)seed, SHA256_SIZE);
	status = BS->InstallConfigurationTable(&seed_table_guid, table);
	if (EFI_ERROR(status)) {
		wipe(table->bytes, SHA256_SIZE);
		BS->FreePool(table);
	} else if (old) {
		wipe(old->bytes, old->size); /* it is part of the new one */
	}
	return status;
}

static EFI_STATUS renew(EFI_FILE_HANDLE file)
{
	UINT8 key[SHA256_SIZE] = { 0 }, seed[SHA256_SIZE] = { 0 };
	struct sha256 h;
	UINT64 size = 0;
	UINTN got = 0;
	EFI_STATUS status = efi_file_size(file, &size);

	if (EFI_ERROR(status))
		return status;
	if (size < SEED_MIN || size > SEED_MAX) {
		efi_message(SEED_PATH, SPAN("not used: less than 32 bytes, or more than 64 KiB"));
		return EFI_SUCCESS;
	}
	UINT8 *bytes = efi_alloc((UINTN)size);
	status = efi_read_at(file, 0, bytes, (UINTN)size, &got);
	if (!EFI_ERROR(status) && got != size)
		status = EFI_VOLUME_CORRUPTED;
	if (EFI_ERROR(status))
		goto out;

	sha256_start(&h);
	mix(&h, "granule-boot random seed 1", 26);
	mix(&h, bytes, got);
	wipe(bytes, got);
	BOOLEAN good = mix_machine(&h);
	sha256_finish(&h, key);
	if (!good)
		goto out;

	derive(key, 0, bytes);
	derive(key, 1, seed);
	status = write_back(file, bytes, got);
	if (!EFI_ERROR(status))
		status = hand_out(seed);
out:
	wipe(key, sizeof(key));
	wipe(seed, sizeof(seed));
	wipe(bytes, (UINTN)size);
	efi_free(bytes);
	return status;
}

void efi_random_seed_process(EFI_FILE_HANDLE root)
{
	EFI_FILE_HANDLE file = NULL;
	CHAR16 *path = efi_path(SEED_PATH, NULL);
	EFI_STATUS status = root->Open(root, &file, path, EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE, 0);

	efi_free(path);
	if (!EFI_ERROR(status)) {
		status = renew(file);
		efi_close(file);
	}
	/* No file, or a partition that cannot be written: the owner knows. */
	if (EFI_ERROR(status) && status != EFI_NOT_FOUND && status != EFI_WRITE_PROTECTED)
		efi_message(SEED_PATH, span_of(efi_status_text(status)));
}
