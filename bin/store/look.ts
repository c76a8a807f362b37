/** Reaches a store before this machine joins it, and says what it is. */
import { type JournalAddress, lookAtStore, type StoreLook } from "../../daemon/journal/shared-journal.ts";
import type { StoreAddress } from "../../daemon/store/address.ts";
import { secretPlaces, storeConnection } from "../../daemon/store/connection.ts";
import { keepSecret } from "../../daemon/store/secret.ts";
import type { AskSecret } from "../ask-secret.ts";
import type { ProcessContext } from "../process-context.ts";
import { counted } from "../view/text.ts";
import { Refused } from "../with-daemon.ts";

const triesMax = 3;

/**
 * Looks at the store. If its server refuses what the password's files have, asks a person for the password, and keeps it
 * once it is right. Throws `Refused` with what is wrong, and what to do.
 */
export async function reachStore(
  { paths }: ProcessContext,
  address: StoreAddress,
  ask: AskSecret | null,
): Promise<StoreLook> {
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
    if (typeof found !== "string") {
      if (typed !== null) keep(paths, typed);
      return found;
    }
    // Only a server that asked for a password can mean that it is the wrong one.
    if (!isAsked || ask === null || left === 0) throw refused(found);
    if (typed !== null) process.stdout.write("That is not it.\n");
    typed = await ask(`Password of ${address.user} for the store (it is shown nowhere): `);
    if (typed === null || typed === "") throw refused(found);
  }
}

async function look(address: JournalAddress): Promise<StoreLook | string> {
  try {
    return await lookAtStore(address);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name !== "StoreAway" && error.name !== "StoreUnfit") throw error;
    return error.message;
  }
}

function keep(paths: ProcessContext["paths"], password: string): void {
  const refusal = keepSecret(secretPlaces(paths), password);
  if (refusal !== null) throw new Refused(refusal);
}

function refused(error: string): Refused {
  return new Refused({ ok: false, code: "store_away", error });
}

/** Returns why the store cannot be joined as it is, or null. */
export function lackText({ tables, lacks }: StoreLook): string | null {
  if (tables !== null && !tables.isKnown)
    return `the store has tables of level ${tables.level}, which this program does not know: update Kite`;
  if (lacks.length === 0) return null;
  return `the store's user may not: ${lacks.join(", ")}; let its administrator give it the right, or make the schema for it: CREATE SCHEMA kite AUTHORIZATION user`;
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
