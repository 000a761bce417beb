//! The single adapter between our synchronous [`Decider`] and cqrs-es.
//!
//! cqrs-es lets `handle` call services; ours has none, so decisions stay pure. The events carry
//! their wire name and version into cqrs-es through [`Recorded`].

use cqrs_es::event_sink::EventSink;
use cqrs_es::{Aggregate, DomainEvent};
use serde::{Deserialize, Serialize};

use crate::decider::{Decider, WireEvent};
use crate::time::Stamp;

/// A decider seen as a cqrs-es aggregate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Sourced<D: Decider>(pub D);

/// A command together with the moment it is judged at.
#[derive(Debug, Clone)]
pub struct Stamped<C> {
    pub command: C,
    pub stamp: Stamp,
}

/// An event as cqrs-es wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Recorded<E: WireEvent>(pub E);

impl<E: WireEvent> DomainEvent for Recorded<E> {
    fn event_type(&self) -> String {
        self.0.name().to_owned()
    }

    fn event_version(&self) -> String {
        self.0.version().to_string()
    }
}

impl<D: Decider> Aggregate for Sourced<D> {
    const TYPE: &'static str = D::KIND;
    type Command = Stamped<D::Command>;
    type Event = Recorded<D::Event>;
    type Error = D::Error;
    type Services = ();

    async fn handle(
        &mut self,
        stamped: Self::Command,
        (): &Self::Services,
        sink: &EventSink<Self>,
    ) -> Result<(), Self::Error> {
        for event in self.0.decide(&stamped.command, stamped.stamp)? {
            sink.write(Recorded(event), self).await;
        }
        Ok(())
    }

    fn apply(&mut self, event: Self::Event) {
        self.0.evolve(&event.0);
    }
}
