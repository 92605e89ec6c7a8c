//! Numbers of the NVMe specifications: opcodes, identifiers, status codes.

/// Opcodes of the admin commands.
pub mod admin {
    /// Get Log Page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Identify.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set Features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous Event Request.
    pub const ASYNC_EVENT: u8 = 0x0c;
    /// Keep Alive.
    pub const KEEP_ALIVE: u8 = 0x18;
    /// Fabrics commands, of all queues.
    pub const FABRICS: u8 = 0x7f;

    /// All admin commands of an I/O controller.
    pub const ALL: [u8; 7] =
        [GET_LOG_PAGE, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, ASYNC_EVENT, KEEP_ALIVE];
}

/// Opcodes of the I/O commands.
pub mod io {
    /// Flush.
    pub const FLUSH: u8 = 0x00;
    /// Write.
    pub const WRITE: u8 = 0x01;
    /// Read.
    pub const READ: u8 = 0x02;
    /// Compare.
    pub const COMPARE: u8 = 0x05;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset Management.
    pub const DATASET: u8 = 0x09;
    /// Verify.
    pub const VERIFY: u8 = 0x0c;

    /// All I/O commands.
    pub const ALL: [u8; 7] = [FLUSH, WRITE, READ, COMPARE, WRITE_ZEROES, DATASET, VERIFY];
}

/// Types of the fabrics commands.
pub mod fabrics {
    /// Property Set.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Connect.
    pub const CONNECT: u8 = 0x01;
    /// Property Get.
    pub const PROPERTY_GET: u8 = 0x04;
}

/// Properties of a controller, by offset.
pub mod property {
    /// Capabilities.
    pub const CAP: u32 = 0x00;
    /// Version.
    pub const VERSION: u32 = 0x08;
    /// Configuration.
    pub const CC: u32 = 0x14;
    /// Status.
    pub const CSTS: u32 = 0x1c;
}

/// Identifiers of the features.
pub mod feature {
    /// Arbitration.
    pub const ARBITRATION: u8 = 0x01;
    /// Power Management.
    pub const POWER: u8 = 0x02;
    /// Temperature Threshold.
    pub const TEMPERATURE: u8 = 0x04;
    /// Volatile Write Cache.
    pub const WRITE_CACHE: u8 = 0x06;
    /// Number of Queues.
    pub const QUEUES: u8 = 0x07;
    /// Asynchronous Event Configuration.
    pub const EVENTS: u8 = 0x0b;
    /// Timestamp.
    pub const TIMESTAMP: u8 = 0x0e;
    /// Keep Alive Timer.
    pub const KEEP_ALIVE: u8 = 0x0f;
    /// Host Identifier.
    pub const HOST: u8 = 0x81;
}

/// Identifiers of the log pages.
pub mod log {
    /// Supported Log Pages.
    pub const SUPPORTED: u8 = 0x00;
    /// Error Information.
    pub const ERRORS: u8 = 0x01;
    /// SMART / Health Information.
    pub const SMART: u8 = 0x02;
    /// Firmware Slot Information.
    pub const FIRMWARE: u8 = 0x03;
    /// Commands Supported and Effects.
    pub const COMMANDS: u8 = 0x05;
    /// Discovery.
    pub const DISCOVERY: u8 = 0x70;
    /// SMART / Health Information Extended of the Open Compute Project.
    pub const OCP_SMART: u8 = 0xc0;
}

/// Version of the base specification: 2.0.
pub const VERSION: u32 = 0x0002_0000;

/// Namespace identifier that stands for all namespaces.
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Controller identifier of a host that wants a new controller.
pub const ANY_CONTROLLER: u16 = 0xffff;

/// Name of the discovery subsystem.
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// Status of a command: its type in the high byte, its code in the low byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u16);

impl Status {
    /// Successful Completion.
    pub const SUCCESS: Self = Self(0x000);
    /// Invalid Command Opcode.
    pub const INVALID_OPCODE: Self = Self(0x001);
    /// Invalid Field in Command.
    pub const INVALID_FIELD: Self = Self(0x002);
    /// Command ID Conflict.
    pub const CID_CONFLICT: Self = Self(0x003);
    /// Commands Aborted due to Power Loss Notification.
    pub const POWER_LOSS: Self = Self(0x005);
    /// Internal Error.
    pub const INTERNAL: Self = Self(0x006);
    /// Command Abort Requested.
    pub const ABORT_REQUESTED: Self = Self(0x007);
    /// Invalid Namespace or Format.
    pub const INVALID_NAMESPACE: Self = Self(0x00b);
    /// Command Sequence Error.
    pub const SEQUENCE: Self = Self(0x00c);
    /// Data SGL Length Invalid.
    pub const SGL_LENGTH: Self = Self(0x00f);
    /// SGL Descriptor Type Invalid.
    pub const SGL_TYPE: Self = Self(0x011);
    /// SGL Offset Invalid.
    pub const SGL_OFFSET: Self = Self(0x016);
    /// Namespace is Write Protected.
    pub const WRITE_PROTECTED: Self = Self(0x020);
    /// Transient Transport Error.
    pub const TRANSPORT: Self = Self(0x022);
    /// LBA Out of Range.
    pub const OUT_OF_RANGE: Self = Self(0x080);
    /// Asynchronous Event Request Limit Exceeded.
    pub const MANY_EVENTS: Self = Self(0x105);
    /// Invalid Log Page.
    pub const INVALID_LOG: Self = Self(0x109);
    /// Feature Identifier Not Saveable.
    pub const NOT_SAVEABLE: Self = Self(0x10d);
    /// Feature Not Changeable.
    pub const NOT_CHANGEABLE: Self = Self(0x10e);
    /// Connect Incompatible Format.
    pub const CONNECT_FORMAT: Self = Self(0x180);
    /// Connect Invalid Parameters.
    pub const CONNECT_PARAMETERS: Self = Self(0x182);
    /// Command Size Limit Exceeded.
    pub const SIZE_LIMIT: Self = Self(0x183);
    /// Write Fault.
    pub const WRITE_FAULT: Self = Self(0x280);
    /// Unrecovered Read Error.
    pub const READ_ERROR: Self = Self(0x281);
    /// Compare Failure.
    pub const COMPARE: Self = Self(0x285);

    /// Whether the command may succeed if it is sent again.
    const fn may_be_retried(self) -> bool {
        matches!(self, Self::TRANSPORT | Self::POWER_LOSS | Self::ABORT_REQUESTED)
    }

    /// Field of a completion: the status, and whether a retry is of no use.
    pub const fn field(self) -> u16 {
        let do_not_retry = self.0 != 0 && !self.may_be_retried();
        self.0 << 1 | (do_not_retry as u16) << 15
    }
}
