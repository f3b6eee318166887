/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efi_measure.h"
#include "efi_vars.h"

/* UAPI group, Linux TPM PCR Registry */
#define PCR_LOADER_CONFIG 5
#define PCR_KERNEL_CONFIG 12

/* TCG PC Client Platform Firmware Profile, 10.4.1 */
#define EV_EVENT_TAG 0x00000006
#define EV_IPL 0x0000000d

/* What a tagged event is about. The first is systemd-boot's, so that others' tools know it; the others ours.
 */
#define TAG_NONE 0
#define TAG_LOADER_CONF 0xf5bc582a
#define TAG_CHOICE 0x6772616e
#define TAG_FILE 0x6772616f

static EFI_GUID tcg2_guid = {
	0x607f766c, 0x7455, 0x42be, { 0x93, 0x0b, 0xe4, 0xd7, 0x6d, 0xb2, 0x72, 0x0f }
};
static EFI_GUID cc_guid = { 0x96751a3d, 0x72f4, 0x41a6, { 0xa7, 0x94, 0xed, 0x5d, 0x0e, 0x67, 0xae, 0x6b } };

/* EFI_TCG2_EVENT and EFI_CC_EVENT, which differ in the meaning of `index`; a tagged event starts with its
 * tag. */
struct event {
	UINT32 size;
	UINT32 header_size;
	UINT16 header_version;
	UINT32 index;
	UINT32 type;
	UINT8 content[];
} __attribute__((packed));

#define EVENT_HEADER_SIZE 14
#define EVENT_HEADER_VERSION 1

typedef EFI_STATUS(EFIAPI *hash_log_extend)(VOID *self, UINT64 flags, EFI_PHYSICAL_ADDRESS data, UINT64 size,
					    struct event *event);

struct tcg2_capability {
	UINT8 size;
	UINT8 structure_version[2], protocol_version[2]; /* major, minor */
	UINT32 hash_algorithms, event_logs;
	BOOLEAN present;
	UINT16 max_command, max_response;
	UINT32 manufacturer, n_banks, active_banks;
};

struct tcg2 {
	EFI_STATUS(EFIAPI *get_capability)(struct tcg2 *self, struct tcg2_capability *capability);
	VOID *get_event_log;
	hash_log_extend hash_log_extend;
};

struct cc {
	VOID *get_capability, *get_event_log;
	hash_log_extend hash_log_extend;
	EFI_STATUS(EFIAPI *map_pcr)(struct cc *self, UINT32 pcr, UINT32 *ret_index);
};

static struct {
	BOOLEAN looked;
	struct tcg2 *tpm;
	struct cc *cc;
	UINT32 banks;
} device;

static void look(void)
{
	struct tcg2_capability capability = { .size = sizeof(capability) };
	struct tcg2 *tpm;

	if (device.looked)
		return;
	device.looked = TRUE;
	if (!EFI_ERROR(BS->LocateProtocol(&tcg2_guid, NULL, (VOID **)&tpm)) &&
	    !EFI_ERROR(tpm->get_capability(tpm, &capability)) && capability.present) {
		device.tpm = tpm;
		device.banks = capability.active_banks;
	} else if (EFI_ERROR(BS->LocateProtocol(&cc_guid, NULL, (VOID **)&device.cc))) {
		device.cc = NULL;
	}
}

/* `description` is UTF-16; its size counts the final NUL. */
static EFI_STATUS extend(UINT32 pcr, UINT32 tag, const void *data, UINTN size, const CHAR16 *description,
			 UINTN description_size)
{
	UINTN tag_size = tag ? 2 * sizeof(UINT32) : 0;
	UINTN event_size = sizeof(struct event) + tag_size + description_size;
	UINT32 index = pcr;
	EFI_STATUS status;

	if (!device.tpm) {
		status = device.cc->map_pcr(device.cc, pcr, &index);
		if (EFI_ERROR(status))
			return status;
	}
	struct event *event = efi_alloc(event_size);
	*event = (struct event){ (UINT32)event_size, EVENT_HEADER_SIZE, EVENT_HEADER_VERSION, index,
				 tag ? EV_EVENT_TAG : EV_IPL };
	if (tag) {
		UINT32 head[2] = { tag, (UINT32)description_size };
		BS->CopyMem(event->content, head, sizeof(head));
	}
	BS->CopyMem(event->content + tag_size, (VOID *)description, description_size);

	hash_log_extend call = device.tpm ? device.tpm->hash_log_extend : device.cc->hash_log_extend;
	status = call(device.tpm ? (VOID *)device.tpm : (VOID *)device.cc, 0,
		      (EFI_PHYSICAL_ADDRESS)(UINTN)data, size, event);
	efi_free(event);
	return status;
}

/* `what` is for people, and the description in the log unless there is another. */
static void measure(UINT32 pcr, UINT32 tag, const void *data, UINTN size, struct span what,
		    const CHAR16 *description, UINTN description_size)
{
	CHAR16 *own = NULL;

	look();
	if (!device.tpm && !device.cc)
		return;
	if (!description)
		description = own = efi_to_utf16(what, &description_size);
	EFI_STATUS status = extend(pcr, tag, data, size, description, description_size);
	efi_free(own);
	if (EFI_ERROR(status)) {
		struct span why = efi_join(SPAN("not measured, booting anyway"), ": ",
					   span_of(efi_status_text(status)));

		efi_message(what, why);
		efi_free((void *)why.p);
	}
}

void efi_measure_conf(struct span text)
{
	measure(PCR_LOADER_CONFIG, TAG_LOADER_CONF, text.p, text.n, SPAN("loader.conf"), NULL, 0);
}

void efi_measure_choice(struct span id, enum page_size page_size)
{
	struct span entry = efi_join(SPAN("entry="), "", id);
	struct span text = efi_join(entry, " page-size=", span_of(page_size_word(page_size)));

	measure(PCR_KERNEL_CONFIG, TAG_CHOICE, text.p, text.n, text, NULL, 0);
	efi_free((void *)text.p);
	efi_free((void *)entry.p);
}

void efi_measure_file(const char *kind, struct span path, const void *data, UINTN size)
{
	struct span what = efi_join(span_of(kind), " ", path);

	measure(PCR_KERNEL_CONFIG, TAG_FILE, data, size, what, NULL, 0);
	efi_free((void *)what.p);
}

void efi_measure_options(const CHAR16 *options, UINTN bytes)
{
	if (bytes > sizeof(CHAR16))
		measure(PCR_KERNEL_CONFIG, TAG_NONE, options, bytes, SPAN("command line"), options, bytes);
}

UINT32 efi_measure_banks(void)
{
	look();
	return device.banks;
}

void efi_measure_publish(void)
{
	char line[16];
	struct text t = text_in(line, sizeof(line));
	UINT32 banks = efi_measure_banks();

	for (int shift = 28; shift >= 0; shift -= 4)
		if (t.n || banks >> shift || !shift)
			text_add(&t, (struct span){ &"0123456789abcdef"[banks >> shift & 15], 1 });
	efi_var_publish(&efi_loader_guid, L"LoaderTpm2ActivePcrBanks", text_span(&t));
}
