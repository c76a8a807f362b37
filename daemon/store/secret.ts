/** Finds the password of a shared store: in `store.secret` of Kite's directory, else in `.pgpass`, never in the environment. */
import { inspect } from "node:util";
import { limits } from "../../protocol/limits.ts";
import type { StoreAddress } from "./address.ts";
import { passwordIn } from "./pass-file.ts";
import { readLinkedFile, readPrivateFile, writePrivateFile } from "./private-file.ts";
import { refuseStore, type StoreRefusal } from "./refusal.ts";

/** What a log, an error or JSON shows of a password. */
const hidden = "[the store's password]";

/** A password that is shown nowhere by accident: whoever needs it says so by `reveal`. */
export class StoreSecret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the password itself. Give it to the store's client and to nothing else. */
  reveal(): string {
    return this.#value;
  }

  toJSON(): string {
    return hidden;
  }

  toString(): string {
    return hidden;
  }

  [inspect.custom](): string {
    return hidden;
  }
}

/** The files that may have it. */
export interface SecretPlaces {
  /** Kite's own: the password alone, on one line. */
  readonly storeSecret: string;
  /** `.pgpass` in the user's home directory. */
  readonly passFile: string;
}

export interface SecretSearch {
  readonly ok: true;
  /** The password for each host of the address, in its order; null: none is found, and a server may need none. */
  readonly secrets: readonly (StoreSecret | null)[];
  /** The file that was used; null: none. */
  readonly from: string | null;
  /** A sentence for each file that was left out though it is there. */
  readonly notes: readonly string[];
}

/**
 * Finds the passwords for an address. `store.secret` counts for every host, since it is of this store alone; if it is there
 * but may not be used, that is a refusal. A `.pgpass` that may not be used is left out with a note, as PostgreSQL does.
 */
export function findSecrets(address: StoreAddress, places: SecretPlaces): SecretSearch | StoreRefusal {
  const { hosts, database, user } = address;
  const own = readPrivateFile(places.storeSecret, limits.storeSecretBytes);
  if (own.is === "unfit") return refuseStore("store_secret", own.error);
  if (own.is === "read") {
    const password = oneLine(own.text);
    if (password === null) return refuseStore("store_secret", otherForm(places.storeSecret));
    const secret = new StoreSecret(password);
    return { ok: true, secrets: hosts.map(() => secret), from: places.storeSecret, notes: [] };
  }
  const shared = readLinkedFile(places.passFile, limits.passFileBytes, true);
  const text = shared.is === "read" ? shared.text : "";
  const secrets = hosts.map(({ host, port }) => {
    const password = passwordIn(text, { host, port, database, user });
    return password === null ? null : new StoreSecret(password);
  });
  return {
    ok: true,
    secrets,
    from: secrets.some(secret => secret !== null) ? places.passFile : null,
    notes: shared.is === "unfit" ? [`${places.passFile} is left out: ${shared.error}`] : [],
  };
}

/**
 * Keeps a password that a person typed in `store.secret`. Refuses what is no password on one line. Throws the system's error
 * if the file cannot be written; the one before stays then.
 */
export function keepSecret({ storeSecret }: SecretPlaces, password: string): StoreRefusal | null {
  const line = oneLine(password);
  if (line === null || Buffer.byteLength(line) >= limits.storeSecretBytes)
    return refuseStore(
      "store_secret",
      "the password is empty, has several lines or control characters, or " +
        `has more than ${limits.storeSecretBytes - 1} bytes; type it again`,
    );
  writePrivateFile(storeSecret, `${line}\n`);
  return null;
}

/** Returns the one line of a text; null: it has another form. */
function oneLine(text: string): string | null {
  const line = text.replace(/\r?\n$/, "");
  return line === "" || /\p{Cc}/u.test(line) ? null : line;
}

function otherForm(path: string): string {
  return `${path} has to hold the store's password alone, on one line without control characters; write it anew (mode 0600)`;
}
