/* A simulator with a clock and requests of its own, and a drive of nandlab in lock-step with it.
 *
 *     lockstep DRIVE PRECONDITION [PATH=VALUE ...] < requests > report.json
 *
 * The simulator is the smallest there is: its requests are lines of standard input (time in ns,
 * device, first sector, sectors, 1 for reads and 0 for writes: a trace of MQSim). It goes from event
 * to event, of its own or of the drive, and takes completions at their times. With the requests of a
 * trace the figures are those of `nandlab run --trace`, to the bit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nandlab.h"

enum { SECTOR = 512 };

static void check(nandlab_outcome outcome) {
    if (outcome != NANDLAB_OUTCOME_OK) {
        fprintf(stderr, "error: %s\n", nandlab_error());
        exit(2);
    }
}

/* Reads the next request of the simulator; false at the end. */
static bool next_request(nandlab_request *request) {
    uint64_t at, sector, sectors;
    int is_read;
    int found = scanf("%" SCNu64 " %*d %" SCNu64 " %" SCNu64 " %d", &at, &sector, &sectors, &is_read);
    if (found != 4) {
        return false;
    }
    *request = (nandlab_request){
        .tag = request->tag + 1,
        .at_ns = at,
        .offset = sector * SECTOR,
        .length = sectors * SECTOR,
        .op = is_read ? NANDLAB_OPERATION_READ : NANDLAB_OPERATION_WRITE,
    };
    return true;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: %s DRIVE PRECONDITION [PATH=VALUE ...] < requests\n", arguments[0]);
        return 2;
    }
    const char *const *sets = (const char *const *)&arguments[3];
    nandlab_drive *drive = nandlab_open(arguments[1], sets, (size_t)count - 3, arguments[2], 0);
    if (drive == NULL) {
        fprintf(stderr, "error: %s\n", nandlab_error());
        return 2;
    }

    uint64_t completed = 0, latencies_ns = 0;
    nandlab_request request = {0};
    bool has_request = next_request(&request);
    if (has_request) {
        check(nandlab_submit(drive, &request));
    }
    while (nandlab_under_way(drive) > 0) {
        /* Nothing happens before this time: another simulator would do its own work up to then. */
        uint64_t next_ns = nandlab_next_event_ns(drive);
        check(nandlab_step(drive));
        if (nandlab_now_ns(drive) != next_ns) {
            fprintf(stderr, "error: an event at another time than was told\n");
            return 1;
        }
        nandlab_completion done;
        while (nandlab_take(drive, &done)) {
            completed += 1;
            latencies_ns += done.at_ns - done.arrival_ns;
        }
        /* The next request is told when the one before has arrived. */
        if (has_request && request.at_ns <= next_ns) {
            has_request = next_request(&request);
            if (has_request) {
                check(nandlab_submit(drive, &request));
            }
        }
    }

    char *report = nandlab_report(drive);
    if (report == NULL) {
        fprintf(stderr, "error: %s\n", nandlab_error());
        return 1;
    }
    puts(report);
    fprintf(stderr, "%" PRIu64 " requests, %.1f us on average, nandlab %s\n", completed,
            completed ? (double)latencies_ns / (double)completed / 1e3 : 0.0, nandlab_version());
    nandlab_free_text(report);
    nandlab_close(drive);
    return 0;
}
