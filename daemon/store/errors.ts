/**
 * What goes wrong with a store, whatever it holds: errors with what to do, and what a statement's error means.
 *
 * Invariants: a statement whose effect is not known counts as `unsure`. What a person can do follows the server's own words,
 * of which the first line is shown.
 */

/** No store can be reached now; the journal tries again by itself. */
export class StoreAway extends Error {
  override readonly name = "StoreAway";
}

/** The store does not let this user do what Kite needs, or cannot hold what Kite writes. */
export class StoreUnfit extends Error {
  override readonly name = "StoreUnfit";
  /** A server does not let the user in with the password that Kite has, or Kite has none: another one may mend that. */
  readonly isOfPassword: boolean;
  /** What programs call it. */
  readonly code: UnfitCode;

  constructor(message: string, { cause, isOfPassword = false, code = "store_away" }: UnfitOptions = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.isOfPassword = isOfPassword;
    this.code = code;
  }
}

/** `node_twice`: another home has this one's id. `level_unfit`: the program is too old. */
export type UnfitCode = "store_away" | "node_twice" | "level_unfit";

interface UnfitOptions {
  readonly cause?: unknown;
  readonly isOfPassword?: boolean;
  readonly code?: UnfitCode;
}

/** None of the store's several servers can be used: the message names each one with its error. */
export class NoServer extends Error {
  override readonly name = "NoServer";
  readonly errors: readonly unknown[];

  constructor(failures: readonly { readonly server: string; readonly error: unknown }[]) {
    super(failures.map(({ server, error }) => `${server}: ${errorMessage(error)}`).join("; "));
    this.errors = failures.map(({ error }) => error);
  }
}

/**
 * What an error of a statement means for it.
 * - `unsure`: the connection broke, or nobody answered: the statement may have taken effect, or may still do so;
 * - `duplicate`: the proposal is in the log already;
 * - `gone`: Kite's tables are not there;
 * - `full`, `busy`, `refused`: it had no effect; `busy` may go well when it is tried again.
 */
export type Meaning = "unsure" | "duplicate" | "gone" | "full" | "busy" | "refused";

/**
 * SQLSTATE codes and classes of statements that were rolled back. All else counts as `unsure`: a server that stops while
 * it waits for a standby ends the connection although the statement took effect (57P01).
 */
const meanings: readonly (readonly [prefix: string, meaning: Meaning])[] = [
  ["23505", "duplicate"],
  ["42P01", "gone"],
  ["42883", "gone"],
  ["3F000", "gone"],
  ["53100", "full"],
  ["53", "busy"],
  ["54", "refused"],
  ["40003", "unsure"],
  ["40", "busy"],
  ["55", "busy"],
  ["57014", "busy"],
  ["0A", "refused"],
  ["21", "refused"],
  ["22", "refused"],
  ["23", "refused"],
  ["42", "refused"],
];

export function meaningOf(error: unknown): Meaning {
  const code = sqlState(error);
  if (code === null) return "unsure";
  return meanings.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "unsure";
}

/** The five characters that name a server's error, or null: the error is the connection's or the program's. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const { code } = error;
  // Errors of Node have codes, too: longer ones, as ECONNRESET, or ERR_...
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** The first line of an error's message, or its code: an error of several tries to connect has no message. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [line = ""] = error.message.split("\n");
  return line !== "" ? line : "code" in error ? String(error.code) : error.name;
}

/** What a person can do about a store that refuses this user, by SQLSTATE. */
const unfit: readonly (readonly [prefix: string, advice: string])[] = [
  [
    "28P01",
    "check the user and the password that Kite has for it: kite store join URL, in a terminal, asks for another one",
  ],
  ["28", "check the user in the address, and whether its server lets that one in (pg_hba.conf)"],
  ["3D000", "make the database, or name one that exists"],
  [
    "42501",
    "let its administrator give this user the right, or make the schema for it: CREATE SCHEMA kite AUTHORIZATION user",
  ],
];

/** What a person can do about a server without a certificate that counts, by what the client's error says. */
const untrusted: readonly (readonly [form: RegExp, advice: string])[] = [
  [
    /^The server does not support SSL connections/,
    "it has no TLS, and nothing leaves this machine without: let its administrator give it a certificate, and set ssl = on",
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    "write the host as the certificate has it, or let its administrator give it one for this host",
  ],
  [/^CERT_HAS_EXPIRED/, "let its administrator give the server a new one"],
  [/^CERT_NOT_YET_VALID/, "see whether this machine's clock is right"],
  [
    /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|CERT_)/,
    "nobody whom this machine trusts signed its certificate: name the one that did in the address: ?sslrootcert=/path/ca.pem",
  ],
];

function tlsAdvice(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const text = "code" in error ? String(error.code) : error.message;
  return untrusted.find(([form]) => form.test(text))?.[1];
}

/** Returns an error that a retry does not mend, or null if one may. `where`: the store as people name it. */
export function lastingError(error: unknown, where: string): StoreUnfit | null {
  if (error instanceof StoreUnfit) return error;
  const advice = adviceOn(error);
  const what = { isOfPassword: isOfPassword(error) };
  if (
    advice === undefined &&
    error instanceof NoServer &&
    error.errors.some(one => one instanceof StoreUnfit)
  )
    return new StoreUnfit(`the store ${where} cannot be used: ${error.message}`, what);
  return advice === undefined
    ? null
    : new StoreUnfit(`the store ${where} said: ${errorMessage(error)}; ${advice}`, what);
}

/** Returns the error of a store that cannot be used now: a lasting one says what to do. */
export function awayError(error: unknown, where: string): Error {
  if (error instanceof StoreAway) return error;
  return (
    lastingError(error, where) ??
    new StoreAway(`the store ${where} cannot be used now: ${errorMessage(error)}`)
  );
}

/** Whether a server refused the password. One of several servers is enough. */
function isOfPassword(error: unknown): boolean {
  if (error instanceof NoServer) return error.errors.some(isOfPassword);
  if (error instanceof StoreUnfit) return error.isOfPassword;
  const code = sqlState(error);
  // A server that asks LDAP, PAM or RADIUS has no code of its own for a wrong password: its function's name tells it from others.
  return code === "28P01" || (code === "28000" && routineOf(error) === "auth_failed");
}

/** The function of the server that refused, which no language changes. */
function routineOf(error: unknown): unknown {
  return error instanceof Error && "routine" in error ? error.routine : null;
}

/** Returns what a person can do about an error. If several servers failed, the first error with advice counts. */
function adviceOn(error: unknown): string | undefined {
  if (error instanceof NoServer) return error.errors.map(adviceOn).find(advice => advice !== undefined);
  const code = sqlState(error);
  return unfit.find(([prefix]) => code?.startsWith(prefix))?.[1] ?? tlsAdvice(error);
}
