/* nandlab: a NAND-flash drive in lock-step with another simulator. docs/c.md tells how to use it.
 *
 * Texts are UTF-8 and end with a zero byte. A drive is used by one thread at a time, and not after
 * it was closed. NULL in the place of a drive, a text or a struct is refused, where nothing else is
 * said. No call ends the process: a call that is refused says why in nandlab_error(). */

#ifndef NANDLAB_H
#define NANDLAB_H

/* Made from crates/c/src by cbindgen: NANDLAB_HEADER=1 cargo test -p nandlab-c */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Outcome of a call.
typedef enum {
    // The call has done what it says.
    NANDLAB_OUTCOME_OK = 0,
    // The call was refused; `nandlab_error` says why. The drive is as it was.
    NANDLAB_OUTCOME_REFUSED = 1,
    // The drive is broken, by a defect of nandlab or of the drive's description; `nandlab_error`
    // says how. Every later call on it ends like this one; close it.
    NANDLAB_OUTCOME_BROKEN = 2,
} nandlab_outcome;

// Operation of a request: a value of `op`.
typedef enum {
    // Returns the newest data.
    NANDLAB_OPERATION_READ = 0,
    // Replaces the data by new ones.
    NANDLAB_OPERATION_WRITE = 1,
    // Forgets the data (discard, deallocate).
    NANDLAB_OPERATION_TRIM = 2,
    // Makes all data durable that were acknowledged; offset and length are 0.
    NANDLAB_OPERATION_FLUSH = 3,
    // Writes at the write pointer of the zone that begins at the offset; the completion tells the
    // place.
    NANDLAB_OPERATION_ZONE_APPEND = 4,
    // Empties the zone that begins at the offset; the length is 0.
    NANDLAB_OPERATION_ZONE_RESET = 5,
    // Makes the zone full; the length is 0.
    NANDLAB_OPERATION_ZONE_FINISH = 6,
    // Opens the zone, and keeps it open; the length is 0.
    NANDLAB_OPERATION_ZONE_OPEN = 7,
    // Closes the zone; the length is 0.
    NANDLAB_OPERATION_ZONE_CLOSE = 8,
    // Opens the zone with a random write area; the length is 0.
    NANDLAB_OPERATION_ZONE_OPEN_AREA = 9,
    // Commits the random write area of the zone that begins at the offset up to the end of the
    // request.
    NANDLAB_OPERATION_ZONE_COMMIT = 10,
} nandlab_operation;

// End of a request by the names of NVM Express: a value of `status`.
typedef enum {
    // Successful Completion: the request was carried out.
    NANDLAB_STATUS_SUCCESS = 0,
    // Invalid Command Opcode: the drive does not know the operation.
    NANDLAB_STATUS_INVALID_OPCODE = 1,
    // Invalid Field in Command: no whole units, or not the start of a zone.
    NANDLAB_STATUS_INVALID_FIELD = 2,
    // Zone Boundary Error: the request goes beyond the zone or its data.
    NANDLAB_STATUS_ZONE_BOUNDARY_ERROR = 3,
    // Zone Is Full: no room is left.
    NANDLAB_STATUS_ZONE_IS_FULL = 4,
    // Zone Is Read Only: the zone takes no writes any more.
    NANDLAB_STATUS_ZONE_IS_READ_ONLY = 5,
    // Zone Is Offline: the zone is out of use.
    NANDLAB_STATUS_ZONE_IS_OFFLINE = 6,
    // Zone Invalid Write: the write does not begin at the write pointer.
    NANDLAB_STATUS_ZONE_INVALID_WRITE = 7,
    // Too Many Active Zones: the limit is reached.
    NANDLAB_STATUS_TOO_MANY_ACTIVE_ZONES = 8,
    // Too Many Open Zones: the limit is reached.
    NANDLAB_STATUS_TOO_MANY_OPEN_ZONES = 9,
    // Invalid Zone State Transition: the zone cannot go there from its state.
    NANDLAB_STATUS_INVALID_ZONE_STATE_TRANSITION = 10,
    // Invalid Zone Operation Request: the zone has a random write area, or cannot have one.
    NANDLAB_STATUS_INVALID_ZONE_OPERATION = 11,
    // ZRWA Resources Unavailable: all random write areas are taken.
    NANDLAB_STATUS_AREAS_UNAVAILABLE = 12,
} nandlab_status;

// A drive in lock-step with its caller. One thread at a time may use it.
typedef struct nandlab_drive nandlab_drive;

// Request to a drive.
typedef struct {
    // Number of the caller's choice, which the completion has again.
    uint64_t tag;
    // Time at which the request arrives, in ns: the present time of the drive or a later one.
    uint64_t at_ns;
    // First byte, a multiple of 512.
    uint64_t offset;
    // Bytes, a multiple of 512.
    uint64_t length;
    // Operation of the request, of `nandlab_operation`.
    uint8_t op;
    // Hint of writes: data of one stream or placement handle die together; 0 says nothing.
    uint8_t stream;
    // Whether a write is acknowledged only when it is durable (force unit access).
    bool fua;
    // Hint of writes: whether somebody waits for this one.
    bool is_urgent;
} nandlab_request;

// Completion of a request.
typedef struct {
    // Number of the request, as it was given.
    uint64_t tag;
    // Time at which the request arrived, in ns. The latency is the difference to `at_ns`.
    uint64_t arrival_ns;
    // Time of the completion, in ns.
    uint64_t at_ns;
    // First byte of the request; of a zone append the place of its data.
    uint64_t offset;
    // Reason for which a zoned drive has refused the request, of `nandlab_status`.
    uint8_t status;
    // Whether data could not be corrected, or the drive has refused the request.
    bool has_failed;
} nandlab_completion;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Text of the last error of this thread, empty where there was none. It is valid until the next
// call of this thread.
const char *nandlab_error(void);

// Opens a drive by the name of a preset or the path of a drive file, with `count` assignments
// `"path=value"` laid over it, and brings it into the state of `precondition` (`"none"`, `"fill"`,
// `"steady"`, `"rested"`; NULL is `"none"`). Refuses a drive that takes more than `memory_limit`
// bytes; 0 is no limit. Returns NULL where it is refused.
nandlab_drive *nandlab_open(const char *drive,
                            const char *const *sets,
                            size_t count,
                            const char *precondition,
                            uint64_t memory_limit);

// Opens a drive by the text of a drive file, otherwise as `nandlab_open`. Paths in it are relative
// to the working folder.
nandlab_drive *nandlab_open_text(const char *toml,
                                 const char *const *sets,
                                 size_t count,
                                 const char *precondition,
                                 uint64_t memory_limit);

// Opens a drive that `nandlab_save` or the command `nandlab save` has saved. Its time begins at 0.
// Returns NULL where it is refused.
nandlab_drive *nandlab_load(const char *path, uint64_t memory_limit);

// Closes a drive. NULL is left alone.
void nandlab_close(nandlab_drive *drive);

// Bytes that the drive offers; 0 of NULL and of a broken drive.
uint64_t nandlab_capacity_bytes(nandlab_drive *drive);

// Present time of the drive, in ns; `UINT64_MAX` of NULL and of a broken drive.
uint64_t nandlab_now_ns(nandlab_drive *drive);

// Requests that were submitted and are not complete; 0 of NULL and of a broken drive.
uint64_t nandlab_under_way(nandlab_drive *drive);

// Time of the next event, in ns: nothing happens before it, unless a request comes. `UINT64_MAX`
// where nothing will happen.
uint64_t nandlab_next_event_ns(nandlab_drive *drive);

// Submits a request. Requests of one time arrive in the order in which they were submitted; those
// of the present arrive before the next event.
nandlab_outcome nandlab_submit(nandlab_drive *drive, const nandlab_request *request);

// Performs all events up to `until_ns`, and brings the drive to that time.
nandlab_outcome nandlab_advance(nandlab_drive *drive, uint64_t until_ns);

// Performs the next event, at whatever time it is. Nothing happens where there is none.
nandlab_outcome nandlab_step(nandlab_drive *drive);

// Takes the oldest completion that was not taken yet. Returns false where there is none.
bool nandlab_take(nandlab_drive *drive, nandlab_completion *completion);

// Report of all requests that are complete, as JSON. Returns NULL where it is refused. To be freed
// with `nandlab_free_text`.
char *nandlab_report(nandlab_drive *drive);

// Saves the drive to a file, which `nandlab_load` and the command `nandlab run --load` take. Its
// buffered data are written to flash first, which takes simulated time. Refused while requests are
// under way.
nandlab_outcome nandlab_save(nandlab_drive *drive, const char *path);

// Frees a text that nandlab has given. NULL is left alone.
void nandlab_free_text(char *text);

// Version of the library, as text.
const char *nandlab_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NANDLAB_H */
