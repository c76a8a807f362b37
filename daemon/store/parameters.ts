/** Reads the parameters of a store's address: those that Kite knows, each at most once, and no other. */
import { limits } from "../../protocol/limits.ts";
import { nearest, quote } from "../../protocol/text.ts";
import { badAddress, decoded, folderIn, portIn, withPassword } from "./address-parts.ts";
import type { StoreRefusal } from "./refusal.ts";

export interface StoreParameters {
  /** The directory of a unix socket; null: the address names its hosts before the database. */
  readonly socketFolder: string | null;
  /** The port of that socket; null: the usual one. */
  readonly port: number | null;
  /** What the address says of TLS; null: nothing. */
  readonly tls: "on" | "off" | null;
  /** Absolute path of the certificates that sign the servers'; null: those that the system trusts. */
  readonly rootCertificate: string | null;
}

const known = ["sslmode", "sslrootcert", "host", "port"] as const;
type Name = (typeof known)[number];

/** Parameters in which programs put a password. */
const secrets: ReadonlySet<string> = new Set(["password", "passwd", "pass", "sslpassword"]);

/** `require` and `verify-ca` ask for less than `verify-full`, and get it. */
const modes: Readonly<Record<string, "on" | "off">> = {
  disable: "off",
  allow: "off",
  prefer: "off",
  require: "on",
  "verify-ca": "on",
  "verify-full": "on",
};

/** Reads what comes after the `?` of an address, undecoded; empty: nothing. */
export function readParameters(query: string): StoreParameters | StoreRefusal {
  const values = new Map<Name, string>();
  for (const word of query === "" ? [] : query.split("&")) {
    const split = word.indexOf("=");
    // A word without a name may be anything, so it is not repeated.
    if (split < 1) return badAddress("has a parameter without a name or a value; write it as NAME=VALUE");
    const name = decoded(word.slice(0, split)) ?? "";
    if (secrets.has(name.toLowerCase())) return withPassword();
    if (!isKnown(name)) return unknownParameter(name);
    if (values.has(name)) return badAddress(`has the parameter ${name} twice; write it once`);
    const value = decoded(word.slice(split + 1));
    if (value === null) return badAddress(`has a % in ${name} that no two digits follow; write it as %25`);
    values.set(name, value);
  }
  return meaningOf(values);
}

function meaningOf(values: ReadonlyMap<Name, string>): StoreParameters | StoreRefusal {
  const [mode, certificate] = [values.get("sslmode"), values.get("sslrootcert")];
  const tlsMode = mode === undefined ? null : Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (tlsMode === undefined)
    return badAddress(`has an unknown sslmode; known are ${Object.keys(modes).join(", ")}`);
  if (tlsMode === "off" && certificate !== undefined)
    return badAddress("has sslrootcert and an sslmode that does without TLS; take one of them out");
  const isSystem = certificate === undefined || certificate === "system";
  const rootCertificate = isSystem ? null : folderIn(certificate, limits.pathBytes);
  if (!isSystem && rootCertificate === null)
    return badAddress("has an sslrootcert that is no absolute path; write the whole path, or system");
  const [folder, digits] = [values.get("host"), values.get("port")];
  const socketFolder = folder === undefined ? null : folderIn(folder, limits.pathBytes);
  if (folder !== undefined && socketFolder === null)
    return badAddress(
      "has a parameter host that is no directory of a unix socket; write other hosts before the database",
    );
  const port = digits === undefined ? null : portIn(digits);
  if (digits !== undefined && port === null)
    return badAddress("has a port that is no number from 1 to 65535");
  const tls = certificate === undefined ? tlsMode : "on";
  return { socketFolder, port, tls, rootCertificate };
}

function isKnown(name: string): name is Name {
  return (known as readonly string[]).includes(name);
}

function unknownParameter(name: string): StoreRefusal {
  const meant = nearest(name, known);
  const hint = meant === null ? `take it out; known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return badAddress(`has the parameter ${quote(name)}, which Kite does not know; ${hint}`);
}
