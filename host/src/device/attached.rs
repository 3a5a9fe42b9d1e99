//! Values that other modules keep with a device, which does not know their types.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// One value of each type.
#[derive(Default)]
pub(super) struct Attached(RefCell<HashMap<TypeId, Rc<dyn Any>>>);

impl Attached {
    /// The value of the type, which begins as its default.
    pub fn get<T: Any + Default>(&self) -> Rc<T> {
        let mut values = self.0.borrow_mut();
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Rc::new(T::default()));
        let value = Rc::clone(value).downcast();
        value.expect("each value lies under its own type")
    }

    /// Replaces the value of the type.
    pub fn put<T: Any>(&self, value: T) {
        self.0
            .borrow_mut()
            .insert(TypeId::of::<T>(), Rc::new(value));
    }
}
