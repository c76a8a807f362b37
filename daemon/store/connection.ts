/** Makes of a store's address what a journal connects by. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { KitePaths } from "../../protocol/paths.ts";
import type { JournalAddress } from "../journal/shared-journal.ts";
import type { StoreAddress } from "./address.ts";
import { readRootCertificate } from "./certificate.ts";
import type { StoreRefusal } from "./refusal.ts";
import { findSecrets, type SecretPlaces } from "./secret.ts";

/** The schema of Kite's tables. */
const schema = "kite";

/** Returns the files that may have the password. No variable names them but `HOME` and `KITE_HOME`. */
export function secretPlaces({ storeSecret }: Pick<KitePaths, "storeSecret">): SecretPlaces {
  return { storeSecret, passFile: join(homedir(), ".pgpass") };
}

/**
 * Returns what a journal connects by. A file of certificates that cannot be read now is a refusal. Each connection reads
 * that file anew, and the password's files if its server asks. Both may change while a daemon runs.
 */
export function storeConnection(
  address: StoreAddress,
  paths: Pick<KitePaths, "storeSecret">,
): JournalAddress | StoreRefusal {
  const certificate = readRootCertificate(address);
  if (certificate !== null && typeof certificate === "object") return certificate;
  const { user, database } = address;
  const own = certificate === null ? {} : { readCa: () => readCertificate(address) };
  const hosts = address.hosts.map(({ host, port, hasTls }, index) => {
    const tls = hasTls && ({ minVersion: "TLSv1.2", ...own } as const);
    const password = () => readPassword(address, paths, index);
    return { host, port, tls, password };
  });
  return { user, database, schema, hosts };
}

/** Throws an error that says what is wrong with the file. */
function readCertificate(address: StoreAddress): string {
  const found = readRootCertificate(address);
  if (typeof found === "string") return found;
  throw new Error(found?.error);
}

/** Throws an error that says what is wrong with a file. */
function readPassword(
  address: StoreAddress,
  paths: Pick<KitePaths, "storeSecret">,
  index: number,
): string | null {
  const found = findSecrets(address, secretPlaces(paths));
  if (!found.ok) throw new Error(found.error);
  const secret = found.secrets[index] ?? null;
  if (secret === null && found.notes.length > 0) throw new Error(found.notes.join("; "));
  return secret?.reveal() ?? null;
}
