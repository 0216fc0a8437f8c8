//! The two sides of a comparison, and a value of each.

/// A side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before the change.
    Base,
    /// After it.
    Head,
}

impl Side {
    /// The one that it is held against.
    pub const fn other(self) -> Self {
        match self {
            Self::Base => Self::Head,
            Self::Head => Self::Base,
        }
    }

    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Head => "head",
        }
    }
}

/// A value of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sides<T> {
    /// Before the change.
    pub base: T,
    /// After it.
    pub head: T,
}

impl<T> Sides<T> {
    /// The value of both sides, made for each.
    pub fn of(make: impl Fn(Side) -> T) -> Self {
        Self { base: make(Side::Base), head: make(Side::Head) }
    }

    /// The value of a side.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }

    /// What is made of each value.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> Sides<U> {
        Sides { base: make(self.base), head: make(self.head) }
    }

    /// Both values, by reference.
    pub fn each_ref(&self) -> Sides<&T> {
        Sides { base: &self.base, head: &self.head }
    }

    /// Each value with that of another pair.
    pub fn zip<U>(self, other: Sides<U>) -> Sides<(T, U)> {
        Sides { base: (self.base, other.base), head: (self.head, other.head) }
    }

    /// The base's value, then the head's.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.base, &self.head].into_iter()
    }
}

impl Sides<bool> {
    /// Whether it is so on a side.
    pub(crate) const fn any(self) -> bool {
        self.base || self.head
    }
}

impl<T> Sides<Option<T>> {
    /// Both values, where there are both.
    pub fn both(self) -> Option<Sides<T>> {
        Some(Sides { base: self.base?, head: self.head? })
    }
}

impl<T> From<Sides<T>> for [T; 2] {
    fn from(sides: Sides<T>) -> Self {
        [sides.base, sides.head]
    }
}
