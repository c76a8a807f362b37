/** The wire of session_rename: a person, or the session itself, says what a session is called. */
import * as z from "zod";
import { limits } from "./limits.ts";
import { once, type RequestTable, reply } from "./request-table.ts";
import { baseShape, idSchema } from "./session.ts";

/** Names the session that `of` means in the project. Refused with `name_taken` if another session of it has the name. */
export const sessionRenameSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  agent: idSchema.optional(),
  /** A session, named as a message's recipient is. */
  of: idSchema,
  name: z
    .string()
    .max(limits.nameBytes)
    .regex(/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u, {
      error: "a name has letters, digits, dots, dashes and underscores, and begins with a letter or a digit",
    }),
});

export interface SessionRenameReply {
  readonly ok: true;
  readonly id: string;
  readonly name: string;
  /** Its name before. */
  readonly was: string;
  readonly project: string;
}

export const renameRequests = {
  session_rename: { params: sessionRenameSchema, reply: reply<SessionRenameReply>(), traits: once },
} as const satisfies RequestTable;
