/** What a client in a container says of its mounts, so that one file has one name: in `hello`, and with each event of a hook. */
import * as z from "zod";
import { limits } from "./limits.ts";

export const mountsSchema = z.object({
  /** The client's mount and process namespaces, as `/proc/self/ns` names them: `mnt:[4026532567] pid:[4026532570]`. */
  namespaces: z.string().max(limits.nameBytes),
  /** The text of its `/proc/self/mountinfo`; empty: it could not be read, or is too long. */
  table: z.string().max(limits.mountTableBytes),
  /** `KITE_MOUNTS`: pairs `PATH HERE=PATH OF THE DAEMON`, separated by colons. */
  pairs: z.string().max(limits.pathBytes).optional(),
  /** Device and inode (`2049:131`) of paths as the client sees them: its working directory, and those of the pairs. */
  seen: z.record(z.string().max(limits.pathBytes), z.string().max(limits.nameBytes)),
});

/** The wire's form of it. */
export type Mounts = z.output<typeof mountsSchema>;
