/** The point at which features change what the answer to a declaration says. */
import type { Reply } from "../core/tables/entries.ts";
import type { Session } from "../core/tables/sessions.ts";
import type { HookServices } from "../hooks/hook-services.ts";

/** Looks before the declaration is made, and returns what shapes its reply. */
export type DeclarePart = (services: HookServices, session: Session) => Promise<(reply: Reply) => Reply>;
