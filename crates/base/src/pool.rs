//! Pool of objects in flight, by number: a slot is taken, accessed by its number, and returned.
//!
//! Numbers are reused, the latest first, so that accessed slots stay in the cache. An access costs
//! one comparison; with debug assertions, a returned number is refused.

use std::ops::{Index, IndexMut};

/// Pool of values in flight, by number. It grows to the most in flight at a time, and then
/// allocates nothing.
#[derive(Debug)]
pub struct Pool<T> {
    values: Vec<T>,
    free: Vec<u32>,
    #[cfg(debug_assertions)]
    is_taken: Vec<bool>,
}

impl<T: Copy> Pool<T> {
    /// An empty pool with room for `capacity` values.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            values: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            #[cfg(debug_assertions)]
            is_taken: Vec::with_capacity(capacity),
        }
    }

    /// Stores `value` and returns its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        let number = match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value;
                number
            }
            None => {
                self.values.push(value);
                (self.values.len() - 1) as u32
            }
        };
        #[cfg(debug_assertions)]
        {
            self.is_taken.resize(self.values.len(), false);
            self.is_taken[number as usize] = true;
        }
        number
    }

    /// Gives a number back to the pool and returns its value.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        let value = self[number];
        self.free(number);
        value
    }

    /// Gives a number back to the pool.
    #[inline]
    pub fn free(&mut self, number: u32) {
        #[cfg(debug_assertions)]
        {
            assert!(self.is_taken[number as usize], "{number} has been given back");
            self.is_taken[number as usize] = false;
        }
        self.free.push(number);
    }

    /// Takes all numbers back: no value is in flight.
    pub fn clear(&mut self) {
        self.values.clear();
        self.free.clear();
        #[cfg(debug_assertions)]
        self.is_taken.clear();
    }

    /// Whether no value is in flight.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.values.len()
    }

    /// Values in flight (slow: scans the pool).
    pub fn taken(&self) -> impl Iterator<Item = &T> {
        self.numbered().map(|(_, value)| value)
    }

    /// Values in flight with their numbers (slow: scans the pool).
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut is_free = vec![false; self.values.len()];
        self.free.iter().for_each(|&number| is_free[number as usize] = true);
        let numbered = (0..).zip(&self.values).zip(is_free);
        numbered.filter(|(_, is_free)| !is_free).map(|(numbered, _)| numbered)
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        #[cfg(debug_assertions)]
        assert!(self.is_taken[number as usize], "{number} has been given back");
        &self.values[number as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        #[cfg(debug_assertions)]
        assert!(self.is_taken[number as usize], "{number} has been given back");
        &mut self.values[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut pool = Pool::with_capacity(2);
        let (a, b) = (pool.insert('a'), pool.insert('b'));
        assert_eq!((pool[a], pool[b]), ('a', 'b'));
        assert_eq!(pool.remove(a), 'a');
        assert_eq!(pool.taken().collect::<String>(), "b");
        let c = pool.insert('c');
        assert_eq!((c, pool[c]), (a, 'c'));
        pool[b] = 'd';
        assert_eq!(pool.taken().collect::<String>(), "cd");
        assert_eq!((pool.remove(b), pool.remove(c)), ('d', 'c'));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "given back")]
    fn a_number_given_back_is_refused() {
        let mut pool = Pool::with_capacity(1);
        let number = pool.insert(1);
        pool.remove(number);
        let _ = pool[number];
    }
}
