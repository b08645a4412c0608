//! What an expression of a page may come back as. The conversions are few, so that a wrong kind is told by its JSON.

use serde_json::Value;

/// A type that a value of a page can be read as.
pub trait FromPage: Sized {
    /// The value; `None` if it is of another kind. `undefined` and `NaN` are `null`.
    fn from_page(value: Value) -> Option<Self>;
}

macro_rules! from_page {
    ($($kind:ty),*) => {$(
        impl FromPage for $kind {
            fn from_page(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok()
            }
        }
    )*};
}

from_page!(Value, bool, u16, u32, u64, usize, i32, i64, f64, String);

impl FromPage for () {
    fn from_page(_: Value) -> Option<Self> {
        Some(())
    }
}

impl<T: FromPage> FromPage for Option<T> {
    fn from_page(value: Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_page(value).map(Some) }
    }
}

impl<T: FromPage> FromPage for Vec<T> {
    fn from_page(value: Value) -> Option<Self> {
        let Value::Array(items) = value else { return None };
        items.into_iter().map(T::from_page).collect()
    }
}

impl<A: FromPage, B: FromPage> FromPage for (A, B) {
    fn from_page(value: Value) -> Option<Self> {
        let [a, b] = <[Value; 2]>::try_from(Vec::from_page(value)?).ok()?;
        Some((A::from_page(a)?, B::from_page(b)?))
    }
}

impl<A: FromPage, B: FromPage, C: FromPage> FromPage for (A, B, C) {
    fn from_page(value: Value) -> Option<Self> {
        let [a, b, c] = <[Value; 3]>::try_from(Vec::from_page(value)?).ok()?;
        Some((A::from_page(a)?, B::from_page(b)?, C::from_page(c)?))
    }
}
