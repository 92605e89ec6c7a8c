//! Made-up requests.
