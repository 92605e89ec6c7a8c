//! Numbers of the NVMe specifications: opcodes, identifiers, status codes.

/// Opcodes of the admin commands.
pub mod admin {
    /// Opcode of the Get Log Page command.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Opcode of the Identify command.
    pub const IDENTIFY: u8 = 0x06;
    /// Opcode of the Abort command.
    pub const ABORT: u8 = 0x08;
    /// Opcode of the Set Features command.
    pub const SET_FEATURES: u8 = 0x09;
    /// Opcode of the Get Features command.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Opcode of the Asynchronous Event Request command.
    pub const ASYNC_EVENT: u8 = 0x0c;
    /// Opcode of the Namespace Management command.
    pub const NAMESPACE_MANAGEMENT: u8 = 0x0d;
    /// Opcode of the Namespace Attachment command.
    pub const NAMESPACE_ATTACHMENT: u8 = 0x15;
    /// Opcode of the Directive Send command.
    pub const DIRECTIVE_SEND: u8 = 0x19;
    /// Opcode of the Directive Receive command.
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    /// Opcode of the Keep Alive command.
    pub const KEEP_ALIVE: u8 = 0x18;
    /// Opcode of the Format NVM command.
    pub const FORMAT: u8 = 0x80;
    /// Opcode of the Sanitize command.
    pub const SANITIZE: u8 = 0x84;
    /// Opcode of all fabrics commands.
    pub const FABRICS: u8 = 0x7f;

    /// All admin commands of an I/O controller.
    pub const ALL: [u8; 11] = [
        GET_LOG_PAGE,
        IDENTIFY,
        ABORT,
        SET_FEATURES,
        GET_FEATURES,
        ASYNC_EVENT,
        KEEP_ALIVE,
        NAMESPACE_MANAGEMENT,
        NAMESPACE_ATTACHMENT,
        FORMAT,
        SANITIZE,
    ];
}

/// Opcodes of the I/O commands.
pub mod io {
    /// Opcode of the Flush command.
    pub const FLUSH: u8 = 0x00;
    /// Opcode of the Write command.
    pub const WRITE: u8 = 0x01;
    /// Opcode of the Read command.
    pub const READ: u8 = 0x02;
    /// Opcode of the Write Uncorrectable command.
    pub const WRITE_UNCORRECTABLE: u8 = 0x04;
    /// Opcode of the Compare command.
    pub const COMPARE: u8 = 0x05;
    /// Opcode of the Write Zeroes command.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Opcode of the Dataset Management command.
    pub const DATASET: u8 = 0x09;
    /// Opcode of the Verify command.
    pub const VERIFY: u8 = 0x0c;
    /// Opcode of the Zone Management Send command.
    pub const ZONE_SEND: u8 = 0x79;
    /// Opcode of the Zone Management Receive command.
    pub const ZONE_RECEIVE: u8 = 0x7a;
    /// Opcode of the Zone Append command.
    pub const ZONE_APPEND: u8 = 0x7d;
    /// Opcode of the Copy command.
    pub const COPY: u8 = 0x19;

    /// Opcode of the I/O Management Receive command.
    pub const MANAGEMENT_RECEIVE: u8 = 0x12;
    /// Opcode of the I/O Management Send command.
    pub const MANAGEMENT_SEND: u8 = 0x1d;

    /// Opcodes of all I/O commands that are built.
    pub const ALL: [u8; 9] =
        [FLUSH, WRITE, READ, COMPARE, WRITE_ZEROES, DATASET, VERIFY, WRITE_UNCORRECTABLE, COPY];

    /// Opcodes of all I/O commands of a namespace with zones.
    pub const OF_ZONES: [u8; 9] =
        [FLUSH, WRITE, READ, COMPARE, WRITE_ZEROES, VERIFY, ZONE_SEND, ZONE_RECEIVE, ZONE_APPEND];

    /// Whether a command changes the data of its namespace.
    pub const fn changes(opcode: u8) -> bool {
        matches!(opcode, WRITE | WRITE_ZEROES | DATASET | WRITE_UNCORRECTABLE | COPY)
            || matches!(opcode, ZONE_SEND | ZONE_APPEND)
    }
}

/// Types of the fabrics commands.
pub mod fabrics {
    /// Type of the Property Set command.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Type of the Connect command.
    pub const CONNECT: u8 = 0x01;
    /// Type of the Property Get command.
    pub const PROPERTY_GET: u8 = 0x04;
}

/// Properties of a controller, by offset.
pub mod property {
    /// Offset of the Capabilities property.
    pub const CAP: u32 = 0x00;
    /// Offset of the Version property.
    pub const VERSION: u32 = 0x08;
    /// Offset of the Configuration property.
    pub const CC: u32 = 0x14;
    /// Offset of the Status property.
    pub const CSTS: u32 = 0x1c;
}

/// Identifiers of the features.
pub mod feature {
    /// Identifier of the Arbitration feature.
    pub const ARBITRATION: u8 = 0x01;
    /// Identifier of the Power Management feature.
    pub const POWER: u8 = 0x02;
    /// Identifier of the Temperature Threshold feature.
    pub const TEMPERATURE: u8 = 0x04;
    /// Identifier of the Volatile Write Cache feature.
    pub const WRITE_CACHE: u8 = 0x06;
    /// Identifier of the Number of Queues feature.
    pub const QUEUES: u8 = 0x07;
    /// Identifier of the Asynchronous Event Configuration feature.
    pub const EVENTS: u8 = 0x0b;
    /// Identifier of the Autonomous Power State Transition feature.
    pub const TRANSITIONS: u8 = 0x0c;
    /// Identifier of the Timestamp feature.
    pub const TIMESTAMP: u8 = 0x0e;
    /// Identifier of the Keep Alive Timer feature.
    pub const KEEP_ALIVE: u8 = 0x0f;
    /// Identifier of the Predictable Latency Mode Config feature.
    pub const LATENCY_MODE: u8 = 0x13;
    /// Identifier of the Predictable Latency Mode Window feature.
    pub const LATENCY_WINDOW: u8 = 0x14;
    /// Identifier of the I/O Command Set Profile feature.
    pub const PROFILE: u8 = 0x19;
    /// Identifier of the Flexible Data Placement feature.
    pub const PLACEMENT: u8 = 0x1d;
    /// Identifier of the Flexible Data Placement Events feature.
    pub const PLACEMENT_EVENTS: u8 = 0x1e;
    /// Identifier of the Host Identifier feature.
    pub const HOST: u8 = 0x81;
}

/// Identifiers of the log pages.
pub mod log {
    /// Identifier of the Supported Log Pages log.
    pub const SUPPORTED: u8 = 0x00;
    /// Identifier of the Error Information log.
    pub const ERRORS: u8 = 0x01;
    /// Identifier of the SMART / Health Information log.
    pub const SMART: u8 = 0x02;
    /// Identifier of the Firmware Slot Information log.
    pub const FIRMWARE: u8 = 0x03;
    /// Identifier of the Changed Namespace List log.
    pub const CHANGED: u8 = 0x04;
    /// Identifier of the Commands Supported and Effects log.
    pub const COMMANDS: u8 = 0x05;
    /// Identifier of the Endurance Group Information log.
    pub const ENDURANCE_GROUP: u8 = 0x09;
    /// Identifier of the Predictable Latency Per NVM Set log.
    pub const LATENCY: u8 = 0x0a;
    /// Identifier of the Predictable Latency Event Aggregate log.
    pub const LATENCY_EVENTS: u8 = 0x0b;
    /// Identifier of the Feature Identifiers Supported and Effects log.
    pub const FEATURES: u8 = 0x12;
    /// Identifier of the FDP Configurations log.
    pub const PLACEMENT_CONFIGURATIONS: u8 = 0x20;
    /// Identifier of the Reclaim Unit Handle Usage log.
    pub const HANDLE_USAGE: u8 = 0x21;
    /// Identifier of the FDP Statistics log.
    pub const PLACEMENT_STATISTICS: u8 = 0x22;
    /// Identifier of the FDP Events log.
    pub const PLACEMENT_EVENTS: u8 = 0x23;
    /// Identifier of the Discovery log.
    pub const DISCOVERY: u8 = 0x70;
    /// Identifier of the Changed Zone List log.
    pub const CHANGED_ZONES: u8 = 0xbf;
    /// Identifier of the Sanitize Status log.
    pub const SANITIZE: u8 = 0x81;
    /// Identifier of the SMART log of the Open Compute Project.
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
    /// Status "Successful Completion" of a command.
    pub const SUCCESS: Self = Self(0x000);
    /// Status "Invalid Command Opcode" of a command.
    pub const INVALID_OPCODE: Self = Self(0x001);
    /// Status "Invalid Field in Command" of a command.
    pub const INVALID_FIELD: Self = Self(0x002);
    /// Status "Command ID Conflict" of a command.
    pub const CID_CONFLICT: Self = Self(0x003);
    /// Status "Commands Aborted due to Power Loss Notification" of a command.
    pub const POWER_LOSS: Self = Self(0x005);
    /// Status "Internal Error" of a command.
    pub const INTERNAL: Self = Self(0x006);
    /// Status "Command Abort Requested" of a command.
    pub const ABORT_REQUESTED: Self = Self(0x007);
    /// Status "Invalid Namespace or Format" of a command.
    pub const INVALID_NAMESPACE: Self = Self(0x00b);
    /// Status "Command Sequence Error" of a command.
    pub const SEQUENCE: Self = Self(0x00c);
    /// Status "Data SGL Length Invalid" of a command.
    pub const SGL_LENGTH: Self = Self(0x00f);
    /// Status "SGL Descriptor Type Invalid" of a command.
    pub const SGL_TYPE: Self = Self(0x011);
    /// Status "SGL Offset Invalid" of a command.
    pub const SGL_OFFSET: Self = Self(0x016);
    /// Status "Sanitize Failed" of a command.
    pub const SANITIZE_FAILED: Self = Self(0x01c);
    /// Status "Sanitize In Progress" of a command.
    pub const SANITIZE_IN_PROGRESS: Self = Self(0x01d);
    /// Status "Namespace is Write Protected" of a command.
    pub const WRITE_PROTECTED: Self = Self(0x020);
    /// Status "Command Interrupted" of a command.
    pub const INTERRUPTED: Self = Self(0x021);
    /// Status "Transient Transport Error" of a command.
    pub const TRANSPORT: Self = Self(0x022);
    /// Status "LBA Out of Range" of a command.
    pub const OUT_OF_RANGE: Self = Self(0x080);
    /// Status "Format In Progress" of a command.
    pub const FORMAT_IN_PROGRESS: Self = Self(0x084);
    /// Status "Asynchronous Event Request Limit Exceeded" of a command.
    pub const MANY_EVENTS: Self = Self(0x105);
    /// Status "Invalid Log Page" of a command.
    pub const INVALID_LOG: Self = Self(0x109);
    /// Status "Invalid Format" of a command.
    pub const INVALID_FORMAT: Self = Self(0x10a);
    /// Status "Feature Identifier Not Saveable" of a command.
    pub const NOT_SAVEABLE: Self = Self(0x10d);
    /// Status "Feature Not Changeable" of a command.
    pub const NOT_CHANGEABLE: Self = Self(0x10e);
    /// Status "I/O Command Set Combination Rejected" of a command.
    pub const COMBINATION: Self = Self(0x12b);
    /// Status "Namespace Insufficient Capacity" of a command.
    pub const INSUFFICIENT_CAPACITY: Self = Self(0x115);
    /// Status "Namespace Identifier Unavailable" of a command.
    pub const ID_UNAVAILABLE: Self = Self(0x116);
    /// Status "Namespace Already Attached" of a command.
    pub const ALREADY_ATTACHED: Self = Self(0x118);
    /// Status "Namespace Is Private" of a command.
    pub const IS_PRIVATE: Self = Self(0x119);
    /// Status "Namespace Not Attached" of a command.
    pub const NOT_ATTACHED: Self = Self(0x11a);
    /// Status "Thin Provisioning Not Supported" of a command.
    pub const THIN_PROVISIONING: Self = Self(0x11b);
    /// Status "Controller List Invalid" of a command.
    pub const CONTROLLER_LIST: Self = Self(0x11c);
    /// Status "I/O Command Set Not Supported" of a command.
    pub const COMMAND_SET: Self = Self(0x129);
    /// Status "Connect Incompatible Format" of a command.
    pub const CONNECT_FORMAT: Self = Self(0x180);
    /// Status "Connect Invalid Parameters" of a command.
    pub const CONNECT_PARAMETERS: Self = Self(0x182);
    /// Status "Command Size Limit Exceeded" of a command.
    pub const SIZE_LIMIT: Self = Self(0x183);
    /// Status "Invalid Zone Operation Request" of a command.
    pub const ZONE_OPERATION: Self = Self(0x1b6);
    /// Status "ZRWA Resources Unavailable" of a command.
    pub const AREAS_UNAVAILABLE: Self = Self(0x1b7);
    /// Status "Zone Boundary Error" of a command.
    pub const ZONE_BOUNDARY: Self = Self(0x1b8);
    /// Status "Zone Is Full" of a command.
    pub const ZONE_FULL: Self = Self(0x1b9);
    /// Status "Zone Is Read Only" of a command.
    pub const ZONE_READ_ONLY: Self = Self(0x1ba);
    /// Status "Zone Is Offline" of a command.
    pub const ZONE_OFFLINE: Self = Self(0x1bb);
    /// Status "Zone Invalid Write" of a command.
    pub const ZONE_INVALID_WRITE: Self = Self(0x1bc);
    /// Status "Too Many Active Zones" of a command.
    pub const MANY_ACTIVE: Self = Self(0x1bd);
    /// Status "Too Many Open Zones" of a command.
    pub const MANY_OPEN: Self = Self(0x1be);
    /// Status "Invalid Zone State Transition" of a command.
    pub const ZONE_TRANSITION: Self = Self(0x1bf);
    /// Status "Write Fault" of a command.
    pub const WRITE_FAULT: Self = Self(0x280);
    /// Status "Unrecovered Read Error" of a command.
    pub const READ_ERROR: Self = Self(0x281);
    /// Status "Compare Failure" of a command.
    pub const COMPARE: Self = Self(0x285);

    /// Whether the command may succeed if it is sent again.
    const fn may_be_retried(self) -> bool {
        matches!(
            self,
            Self::TRANSPORT
                | Self::POWER_LOSS
                | Self::ABORT_REQUESTED
                | Self::FORMAT_IN_PROGRESS
                | Self::SANITIZE_IN_PROGRESS
                | Self::INTERRUPTED
        )
    }

    /// Field of a completion: the status, and whether a retry is of no use.
    pub const fn field(self) -> u16 {
        let do_not_retry = self.0 != 0 && !self.may_be_retried();
        self.0 << 1 | (do_not_retry as u16) << 15
    }
}
