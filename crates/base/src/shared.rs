//! Process-wide caches: values that are expensive to build, kept for whoever asks next.
//!
//! A value is a pure function of its key, so whether it was kept changes speed and never a result.
//! [`Shared`] keeps the values that were asked for last; those beyond live as long as their users.
//! [`Numbered`] keeps all. Whoever asks often keeps the `Arc`: a cache is for starts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The values last asked for, by key; meant for a `static`.
pub struct Shared<K, V> {
    most: usize,
    /// Keys and values, the one that was asked for last at the end.
    kept: Mutex<Vec<(K, Arc<V>)>>,
}

impl<K: PartialEq, V> Shared<K, V> {
    /// An empty cache that keeps up to `most` values.
    pub const fn new(most: usize) -> Self {
        Self { most, kept: Mutex::new(Vec::new()) }
    }

    /// The value of `key`, built if it is not kept. An error is not kept.
    ///
    /// Other threads do not wait while one builds; where two build the same, both get the first.
    pub fn get<E>(&self, key: K, build: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        if let Some(value) = Self::find(&mut locked(&self.kept), &key) {
            return Ok(value);
        }
        let built = Arc::new(build()?);
        let mut kept = locked(&self.kept);
        if let Some(value) = Self::find(&mut kept, &key) {
            return Ok(value);
        }
        if kept.len() >= self.most {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&built)));
        Ok(built)
    }

    /// The value of `key`, which moves to the end.
    fn find(kept: &mut [(K, Arc<V>)], key: &K) -> Option<Arc<V>> {
        let at = kept.iter().rposition(|(known, _)| known == key)?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, value)| Arc::clone(value))
    }
}

/// Values by small numbers, all of them kept.
pub struct Numbered<V: ?Sized>(Mutex<Vec<Option<Arc<V>>>>);

impl<V: ?Sized> Numbered<V> {
    /// No values yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The value of `number`, built if it is not kept; other threads do not wait for that.
    pub fn get(&self, number: usize, build: impl FnOnce() -> Arc<V>) -> Arc<V> {
        if let Some(Some(value)) = locked(&self.0).get(number) {
            return Arc::clone(value);
        }
        let built = build();
        let mut kept = locked(&self.0);
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

/// What a lock guards. A thread that panicked left nothing half done under it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_last_ones_are_built_once() {
        let shared = Shared::new(2);
        let get = |key: u32| {
            let Ok(value) = shared.get(key, || Ok::<_, Infallible>(vec![key]));
            value
        };
        let (one, two) = (get(1), get(2));
        assert!(Arc::ptr_eq(&one, &get(1)) && Arc::ptr_eq(&two, &get(2)));
        // 1 was asked for before 2, and goes.
        get(3);
        assert!(Arc::ptr_eq(&two, &get(2)));
        let again = get(1);
        assert!(!Arc::ptr_eq(&one, &again) && one == again);
    }

    #[test]
    fn errors_are_told_and_not_kept() {
        let shared = Shared::new(1);
        assert_eq!(shared.get(1, || Err("no")), Err("no"));
        assert_eq!(shared.get(1, || Ok::<_, &str>(5)), Ok(Arc::new(5)));
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
