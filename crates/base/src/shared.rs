//! Shared models: expensive models are built once per process for the same parameters.
//!
//! A [`Shared`] is a static. It gives one instance for each key to any number of owners and
//! threads. An instance lives as long as an owner has it; the last few live longer, so that drives
//! built one after another share it too. A [`Numbered`] keeps all instances. Keep the `Arc` for
//! frequent use: each lookup takes a lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Shared instances of a model by key. The key alone decides what its instance is.
pub struct Shared<K, T: ?Sized> {
    known: Mutex<Known<K, T>>,
    keeps: usize,
}

/// Slot of one instance; locked while it is built, so that it is built once.
type Place<T> = Arc<Mutex<Option<Weak<T>>>>;

struct Known<K, T: ?Sized> {
    places: BTreeMap<K, Place<T>>,
    /// Instances asked for last, the newest at the end. They live on without an owner.
    recent: VecDeque<Arc<T>>,
}

impl<K: Ord, T: ?Sized> Shared<K, T> {
    /// Creates an empty set; `keeps` instances live on without an owner.
    pub const fn new(keeps: usize) -> Self {
        let known = Known { places: BTreeMap::new(), recent: VecDeque::new() };
        Self { known: Mutex::new(known), keeps }
    }

    /// The instance of `key`, which `build` makes where there is none. A failure is not kept.
    pub fn get<E>(&self, key: K, build: impl FnOnce() -> Result<Arc<T>, E>) -> Result<Arc<T>, E> {
        let place = self.place(key);
        let mut found = lock(&place);
        let instance = match found.as_ref().and_then(Weak::upgrade) {
            Some(instance) => instance,
            None => build()?,
        };
        *found = Some(Arc::downgrade(&instance));
        drop(found);
        // What is left out of the recent ones is freed after the lock.
        let _left = self.keep(&instance);
        Ok(instance)
    }

    fn place(&self, key: K) -> Place<T> {
        let mut known = lock(&self.known);
        if let Some(place) = known.places.get(&key) {
            return place.clone();
        }
        // Places that nobody builds in, without an instance, are of no use any more.
        known.places.retain(|_, place| {
            let gone = |instance: &Option<Weak<T>>| {
                instance.as_ref().is_none_or(|instance| instance.strong_count() == 0)
            };
            Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(|instance| !gone(&instance))
        });
        known.places.entry(key).or_default().clone()
    }

    fn keep(&self, instance: &Arc<T>) -> Option<Arc<T>> {
        let recent = &mut lock(&self.known).recent;
        match recent.iter().position(|known| Arc::ptr_eq(known, instance)) {
            Some(at) => {
                recent.remove(at);
                recent.push_back(instance.clone());
                None
            }
            None => {
                recent.push_back(instance.clone());
                if recent.len() > self.keeps { recent.pop_front() } else { None }
            }
        }
    }
}

/// Shared values by small numbers. All of them are kept.
pub struct Numbered<V: ?Sized>(Mutex<Vec<Option<Arc<V>>>>);

impl<V: ?Sized> Numbered<V> {
    /// Creates an empty set of values.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The value of `number`, built if it is not kept. Other threads do not wait for the build.
    pub fn get(&self, number: usize, build: impl FnOnce() -> Arc<V>) -> Arc<V> {
        if let Some(Some(value)) = lock(&self.0).get(number) {
            return Arc::clone(value);
        }
        let built = build();
        let mut kept = lock(&self.0);
        if number >= kept.len() {
            kept.resize_with(number + 1, || None);
        }
        Arc::clone(kept[number].get_or_insert(built))
    }
}

impl<V: ?Sized> Default for Numbered<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// Locks a mutex, even after a panic elsewhere: no value is ever left half changed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_instance_a_key_for_all_who_ask() {
        static MODELS: Shared<String, str> = Shared::new(2);
        static BUILT: AtomicU32 = AtomicU32::new(0);
        let get = |key: &str| {
            let build = || {
                BUILT.fetch_add(1, Ordering::Relaxed);
                Ok::<Arc<str>, Error>(Arc::from(key))
            };
            MODELS.get(key.to_owned(), build).unwrap()
        };
        let built = || BUILT.load(Ordering::Relaxed);
        let all: Vec<Arc<str>> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| get("a"))).collect();
            asking.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|one| Arc::ptr_eq(one, &all[0])));
        assert_eq!(built(), 1);
        // One after another, nobody else holding it.
        drop(all);
        (0..1000).for_each(|_| drop(get("a")));
        assert_eq!(built(), 1);
        // Forgotten behind two others, but not while somebody has it.
        let held = get("b");
        for key in ["c", "d", "b", "a"] {
            get(key);
        }
        assert_eq!(built(), 5);
        assert!(Arc::ptr_eq(&held, &get("b")));
        assert_eq!(built(), 5);
    }

    #[test]
    fn what_failed_is_tried_again() {
        static MODELS: Shared<String, u32> = Shared::new(1);
        let failed = MODELS.get("a".into(), || Err(Error::new("a", "no")));
        assert!(failed.is_err());
        assert_eq!(*MODELS.get("a".into(), || Ok::<_, Error>(Arc::new(7))).unwrap(), 7);
    }

    #[test]
    fn threads_share() {
        let shared = Numbered::new();
        let ask = || shared.get(7, || Arc::new(49));
        let found: Vec<Arc<i32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(found.iter().all(|one| Arc::ptr_eq(one, &found[0]) && **one == 49));
    }
}
