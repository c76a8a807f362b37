/** Certificates of a test's own, made with `openssl`. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../temporary-folder.ts";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority, which signs certificates of servers. */
export class Authority {
  readonly #folder = temporaryFolder();
  #count = 0;
  /** Path of its own certificate. */
  readonly path = join(this.#folder, "ca.pem");

  constructor() {
    const made = ["-x509", "-days", "2", "-subj", "/CN=Kite test CA", "-keyout", "ca.key", "-out", "ca.pem"];
    this.#openssl("req", ...newKey, ...made);
  }

  /**
   * Returns a certificate for names and addresses of a server, each as `DNS:db.example` or `IP:192.0.2.1`. `days`: how long it is
   * good for; a negative number: it has expired.
   */
  sign(names: readonly string[], days = 2): Certificate {
    this.#count += 1;
    const name = `server-${this.#count}`;
    const [request, cert, key, extensions] = [".csr", ".pem", ".key", ".ext"].map(end => `${name}${end}`) as [
      string,
      string,
      string,
      string,
    ];
    this.#openssl("req", ...newKey, "-subj", "/CN=server", "-keyout", key, "-out", request);
    writeFileSync(join(this.#folder, extensions), `subjectAltName=${names.join(",")}\n`);
    const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", String(days)];
    this.#openssl("x509", "-req", "-in", request, ...by, "-extfile", extensions, "-out", cert);
    const read = (file: string) => readFileSync(join(this.#folder, file), "utf8");
    return { cert: read(cert), key: read(key) };
  }

  #openssl(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#folder, stdio: ["ignore", "ignore", "pipe"] });
  }
}

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
