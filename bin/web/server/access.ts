/**
 * Who may read the page. Other programs of this machine and other pages of the person's browser reach the same port: each
 * request shows that it comes from the page itself, and that its page was opened by somebody who had a code.
 *
 * Invariants: a code works once and for `bounds.codeMs`. Without the token every address answers as one that is not there.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { bounds } from "../bounds.ts";

export class Access {
  /** Ends of codes that nobody used yet: wall time in milliseconds, by the code's hash. */
  readonly #codes = new Map<string, number>();
  readonly #token = secret();
  readonly #now: () => number;

  /** The folder of the page's programs: who has no token cannot guess it. */
  readonly folder = secret();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns a new code. Of more than a few, the oldest ends. */
  newCode(): string {
    const code = secret();
    this.#codes.set(hashOf(code), this.#now() + bounds.codeMs);
    const [oldest] = this.#codes.keys();
    if (this.#codes.size > bounds.codesMax && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** Returns the token for a code; null: no such code, or it was used, or it is too old. */
  trade(code: string): string | null {
    const hash = hashOf(code);
    const endsAt = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (endsAt === undefined) return null;
    const leftMs = endsAt - this.#now();
    // More than there was at first: somebody set the clock back.
    return leftMs > 0 && leftMs <= bounds.codeMs ? this.#token : null;
  }

  /** Whether the request carries the token. */
  isKnown({ headers: { authorization = "" } }: Pick<IncomingMessage, "headers">): boolean {
    const [kind, token = ""] = authorization.split(" ");
    // Hashes have one length, and comparing them takes the same time whatever they are.
    return kind === "Bearer" && timingSafeEqual(digest(token), digest(this.#token));
  }
}

/**
 * Whether the request is for this server, and not sent by another page: a name that somebody's DNS leads to this machine is
 * not ours (DNS rebinding), and a browser says for whom it sends.
 */
export function isFromPage({ headers }: Pick<IncomingMessage, "headers">, port: number): boolean {
  const { host, origin } = headers;
  const site = headers["sec-fetch-site"];
  const names = ["127.0.0.1", "localhost"];
  // A browser leaves out the port that HTTP has by itself.
  const hosts = port === 80 ? names : names.map(name => `${name}:${port}`);
  if (host === undefined || !hosts.includes(host)) return false;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  // `none`: the person opened the address.
  return site === undefined || site === "same-origin" || site === "none";
}

function secret(): string {
  return randomBytes(24).toString("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function hashOf(text: string): string {
  return digest(text).toString("base64url");
}
