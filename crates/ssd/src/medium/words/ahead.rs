//! Threads that decode stored codewords ahead of the simulation.
//!
//! The errors of a word are known when its page is sensed, long before its data have come to the
//! controller. From then on a thread may decode it. Who needs a word that no thread has begun
//! decodes it himself, and others while he waits: so outcomes are the same with any number of
//! threads, with none too.

use ecc::model::{Model, Stored, Word};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Most threads that decode ahead. Assumed: on machines with more cores other work wants some of
/// them.
const MOST_THREADS: usize = 16;

/// Outcome of decoding a word.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) told: Stored,
    /// Bits of the decoded word, packed.
    pub(super) bits: Vec<u64>,
}

/// Progress of a word.
enum State {
    Waiting,
    Begun,
    Done(Decoded),
}

/// Task of decoding a word that was sensed.
pub(super) struct Task {
    word: Word,
    /// Codewords of its unit as they were written, and where the word begins among them.
    unit: Arc<[u64]>,
    at: usize,
    length: usize,
    state: Mutex<State>,
    /// Signals that the word is decoded, or that nobody is decoding it any more.
    changed: Condvar,
}

impl Task {
    /// Creates the task of word `number` of a unit, whose words have `length` `u64`s each.
    pub(super) fn new(word: Word, unit: &Arc<[u64]>, number: usize, length: usize) -> Self {
        Self {
            word,
            unit: unit.clone(),
            at: number * length,
            length,
            state: Mutex::new(State::Waiting),
            changed: Condvar::new(),
        }
    }

    /// Begins the task. Returns false if somebody has begun it already.
    fn begin(&self) -> bool {
        let mut state = lock(&self.state);
        let is_waiting = matches!(*state, State::Waiting);
        if is_waiting {
            *state = State::Begun;
        }
        is_waiting
    }

    fn decode(&self, model: &mut dyn Model) -> Decoded {
        let stored = &self.unit[self.at..][..self.length];
        let mut bits = vec![0; self.length];
        let told = model.decode_stored(&self.word, stored, None, &mut bits);
        Decoded { told, bits }
    }

    /// Decodes the word, if nobody has begun yet, and keeps the outcome.
    fn run(&self, model: &mut dyn Model) {
        if !self.begin() {
            return;
        }
        let begun = Begun(self);
        let decoded = self.decode(model);
        *lock(&begun.0.state) = State::Done(decoded);
    }

    /// Waits until the word is decoded, and takes its outcome; `None` if nobody is decoding it.
    fn wait(&self) -> Option<Decoded> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Waiting) {
                State::Done(decoded) => return Some(decoded),
                State::Waiting => return None,
                State::Begun => *state = State::Begun,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn is_done(&self) -> bool {
        matches!(*lock(&self.state), State::Done(_))
    }
}

/// Task that this thread is decoding. If the thread ends before it is done, another may begin.
struct Begun<'a>(&'a Task);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Begun) {
            *state = State::Waiting;
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tasks in the order in which their words were sensed.
#[derive(Default)]
struct Queue {
    tasks: VecDeque<Arc<Task>>,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Signals that there are more tasks, or that there will be none any more.
    changed: Condvar,
}

impl Shared {
    /// The next task, for as long as there are any to come.
    fn next(&self) -> Option<Arc<Task>> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Threads that decode ahead, and the queue of their tasks.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// Threads that decode as `model` does: one for each core of the machine but that of the
    /// simulation.
    pub(super) fn new(model: &dyn Model) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self::with(model, (cores - 1).min(MOST_THREADS))
    }

    /// Starts `threads` threads; fewer if the system gives no more.
    pub(super) fn with(model: &dyn Model, threads: usize) -> Self {
        let shared = Arc::<Shared>::default();
        let start = |mut model: Box<dyn Model>| {
            let shared = shared.clone();
            let decode = move || {
                while let Some(task) = shared.next() {
                    task.run(&mut *model);
                }
            };
            thread::Builder::new().name("nandlab decoder".to_owned()).spawn(decode).ok()
        };
        let models = (0..threads).map_while(|_| model.twin());
        Self { threads: models.map_while(start).collect(), shared }
    }

    /// Queues words that have just been sensed.
    pub(super) fn begin(&self, tasks: &[Arc<Task>]) {
        if self.threads.is_empty() {
            return;
        }
        lock(&self.shared.queue).tasks.extend(tasks.iter().cloned());
        match tasks.len() {
            0 => {}
            1 => self.shared.changed.notify_one(),
            _ => self.shared.changed.notify_all(),
        }
    }

    /// The outcome of a word, which is needed now.
    pub(super) fn finish(&self, task: &Task, model: &mut dyn Model) -> Decoded {
        loop {
            if task.begin() {
                return task.decode(model);
            }
            // A thread is at it: meanwhile there may be others to decode.
            while !task.is_done() {
                let other = lock(&self.shared.queue).tasks.pop_front();
                let Some(other) = other else { break };
                other.run(model);
            }
            if let Some(decoded) = task.wait() {
                return decoded;
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that has panicked has decoded nothing that anybody waits for.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
