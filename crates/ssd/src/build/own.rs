//! Drives whose FTL is a user's own.

use crate::config::SsdConfig;
use crate::conflicts::{Feature, Seen};
use crate::ftl::own::{OwnFtl, STREAMS};
use base::Result;
use base::family::Section;
use base::params::Table;

impl SsdConfig {
    /// Drive with `own` as its FTL, in the place of the member of the roster. It takes over the
    /// shared parameters of `ftl`; hooks take over the parameters of `page` too.
    pub fn with_own_ftl(mut self, own: OwnFtl) -> Result<Self> {
        let mut params = Table::new();
        if own.is_page {
            Seen::of(&self).features().check(Feature::Hooks)?;
            params.clone_from(&self.ftl.params);
            params.remove(STREAMS);
        }
        params.insert("own".into(), own.facts.clone().into());
        self.ftl = Section { name: own.name.clone(), params, ..self.ftl };
        self.own_ftl = Some(own);
        Ok(self)
    }
}
