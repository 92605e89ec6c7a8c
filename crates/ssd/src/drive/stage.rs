//! A stage of identical servers, first come first served: processors, decoders, a link.
//!
//! Requests reach such a stage in the order of simulated time, so its whole schedule is known
//! when a request arrives: no event is needed for its start, and none for its queue.

use base::Time;

/// Servers and when each is free next.
#[derive(Debug, Clone)]
pub struct Stage {
    free_at: Vec<Time>,
    /// Time at which all servers are free: a request that takes no time need not look for one then.
    all_free_at: Time,
    busy: Time,
}

impl Stage {
    /// Creates a stage of `servers` idle servers.
    pub fn new(servers: u32) -> Self {
        let free_at = vec![Time::ZERO; servers as usize];
        Self { free_at, all_free_at: Time::ZERO, busy: Time::ZERO }
    }

    /// Serves a request that arrives `now` for `time`. Returns the server, the start and the end.
    #[inline]
    pub fn serve(&mut self, now: Time, time: Time) -> (usize, Time, Time) {
        if time == Time::ZERO && self.all_free_at <= now {
            return (0, now, now);
        }
        let mut server = 0;
        for i in 1..self.free_at.len() {
            if self.free_at[i] < self.free_at[server] {
                server = i;
            }
        }
        let start = now.max(self.free_at[server]);
        let end = start + time;
        self.free_at[server] = end;
        self.all_free_at = self.all_free_at.max(end);
        self.busy += time;
        (server, start, end)
    }

    /// Time that all servers together have worked until `now`. What is booked beyond has not
    /// happened yet; there are no gaps in it, since requests are booked when they arrive.
    pub fn busy(&self, now: Time) -> Time {
        let beyond = self.free_at.iter().map(|free_at| free_at.since(now).0).sum();
        self.busy.since(Time(beyond))
    }

    /// Breaks off what is under way or booked: all servers are free.
    pub fn stop(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free_at.iter_mut().for_each(|free_at| *free_at = (*free_at).min(now));
        self.all_free_at = self.all_free_at.min(now);
    }

    /// Number of servers of the stage.
    pub fn servers(&self) -> usize {
        self.free_at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_in_order_on_the_first_free_server() {
        let mut stage = Stage::new(2);
        assert_eq!(stage.serve(Time(0), Time(10)), (0, Time(0), Time(10)));
        assert_eq!(stage.serve(Time(1), Time(10)), (1, Time(1), Time(11)));
        assert_eq!(stage.serve(Time(2), Time(10)), (0, Time(10), Time(20)));
        assert_eq!(stage.serve(Time(50), Time(1)), (1, Time(50), Time(51)));
        assert_eq!(stage.busy(Time(51)), Time(31));
        // Up to then, and no more than there was time for.
        assert_eq!(stage.busy(Time(50)), Time(30));
        stage.serve(Time(50), Time(1000));
        stage.serve(Time(50), Time(1000));
        assert_eq!(stage.busy(Time(60)), Time(50));
        assert_eq!(stage.busy(Time(2000)), Time(2031));
    }
}
