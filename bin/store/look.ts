/** Reaches a store before this machine joins it, and says what it is. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { lookAtStore, type StoreLook } from "../../daemon/journal/shared-journal.ts";
import type { StoreAddress } from "../../daemon/store/address.ts";
import type { JournalAddress } from "../../daemon/store/connection.ts";
import { findSecrets, keepSecret, secretPlaces, storeConnection } from "../../daemon/store/private-files.ts";
import type { AskSecret } from "../context/person.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { Refused } from "../context/with-daemon.ts";
import { clean, counted } from "../view/text.ts";
import { say } from "./share.ts";

const triesMax = 3;

/** A store that answered. */
export interface ReachedStore {
  readonly look: StoreLook;
  /** The right password, which a person typed and `keepPassword` keeps; null: a file has it, or none is needed. */
  readonly typed: string | null;
}

/**
 * Looks at the store, and changes nothing. If its server refuses the password that the files have, or they have none, says why, and
 * asks a person for it. Throws `Refused` with what is wrong, and what to do.
 */
export async function reachStore(
  world: ProcessContext,
  address: StoreAddress,
  ask: AskSecret | null,
): Promise<ReachedStore> {
  const { paths } = world;
  const connection = storeConnection(address, paths);
  if ("ok" in connection) throw new Refused(connection);
  let typed: string | null = null;
  for (let left = triesMax; ; left -= 1) {
    let isAsked = false;
    const hosts = connection.hosts.map(host => {
      const password = () => {
        isAsked = true;
        return typed ?? host.password();
      };
      return { ...host, password };
    });
    const found = await look({ ...connection, hosts });
    if (!("why" in found)) return { look: found, typed };
    const { why, isOfPassword } = found;
    // Another password mends nothing else, and only a server that asked for one can mean it.
    if (!isOfPassword || !isAsked || ask === null || left === 0) throw refused(why);
    say(world, typed === null ? fileNotes(address, paths) : ["That is not it."]);
    typed = await ask(`Password of ${address.user} for the store (it is shown nowhere): `);
    if (typed === null || typed === "") throw refused(why);
  }
}

/** Returns why what the files have does not count, though one of them may have the password. */
function fileNotes(address: StoreAddress, paths: ProcessContext["paths"]): string[] {
  const found = findSecrets(address, secretPlaces(paths));
  if (!found.ok) return [clean(found.error)];
  if (found.from !== null && found.secrets.every(secret => secret !== null))
    return [clean(`The server refuses the password in ${found.from}.`)];
  return found.notes.map(clean);
}

/** Why a store cannot be used now. */
interface NoLook {
  readonly why: string;
  /** Another password may mend it. */
  readonly isOfPassword: boolean;
}

async function look(address: JournalAddress): Promise<StoreLook | NoLook> {
  try {
    return await lookAtStore(address);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name !== "StoreAway" && error.name !== "StoreUnfit") throw error;
    return { why: error.message, isOfPassword: "isOfPassword" in error && error.isOfPassword === true };
  }
}

/** Keeps a password for the daemon, and makes Kite's directory if there is none. Throws `Refused` with what is in the way. */
export function keepPassword({ paths }: ProcessContext, password: string): void {
  const places = secretPlaces(paths);
  mkdirSync(dirname(places.storeSecret), { recursive: true, mode: 0o700 });
  const refusal = keepSecret(places, password);
  if (refusal !== null) throw new Refused(refusal);
}

function refused(error: string): Refused {
  return new Refused({ ok: false, code: "store_away", error });
}

/** The first version of PostgreSQL that Kite is made for. */
const serverMin = 13;

/** Returns why the store cannot be joined as it is, with what to do, or null. */
export function lackText({ server, tables, isHidden, lacks, user, schema }: StoreLook): string | null {
  if (Number.parseInt(server, 10) < serverMin)
    return `the store is PostgreSQL ${server}, and Kite needs ${serverMin} or later: let its administrator update it`;
  if (tables !== null && !tables.isKnown)
    return `the store has tables of level ${tables.level}, which this program does not know: update Kite`;
  if (lacks.length === 0) return null;
  const may = `the store's user ${clean(user)} may not: ${lacks.join(", ")}`;
  const role = clean(nameIn(user));
  if (tables === null && !isHidden)
    return `${may}; let its administrator make the schema for it: CREATE SCHEMA ${schema} AUTHORIZATION ${role}`;
  const grants = `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`;
  return `${may}; let its administrator give it the rights: ${grants}`;
}

/** Returns a name as a statement writes it. */
function nameIn(user: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(user) ? user : `"${user.replaceAll('"', '""')}"`;
}

/** Returns what the store is, in lines. */
export function lookLines({ server, tables, isDurable, aheadMs }: StoreLook): string[] {
  const own =
    tables === null
      ? "no tables of Kite yet: they are made now"
      : `Kite's tables of level ${tables.level}, used by ${counted(tables.nodesLately, "machine")} in the last day`;
  return [
    `PostgreSQL ${server}, encoding UTF8, with the rights that Kite needs; ${own}`,
    ...(Math.abs(aheadMs) < clockSkewMs ? [] : [skewText(aheadMs)]),
    ...(isDurable ? [] : ["its server loses what it confirmed if its power fails (fsync is off)"]),
  ];
}

/** A store's clock that differs by more is worth a word. */
export const clockSkewMs = 5_000;

export function skewText(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return `its clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's: times of tasks and messages are the store's`;
}
