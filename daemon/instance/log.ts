/** Writes the daemon's log and rotates its files. */
import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface LogOptions {
  readonly level?: LogLevel;
  /** Also gets every line, in short form for a person; for a daemon in the foreground. */
  readonly foreground?: (line: string) => void;
  readonly fileBytes?: number;
  readonly filesMax?: number;
}

export interface Log {
  readonly logger: Logger;
  close(): void;
}

/**
 * Opens the daemon's log: lines of JSON in `path`, older ones in `path.1` and so on. Writes are synchronous, so the
 * last line before a crash is there. Therefore ordinary requests are not logged.
 */
export function createLog(path: string, options: LogOptions = {}): Log {
  const file = new RotatingFile(path, options);
  const { foreground } = options;
  const destination = {
    write(line: string): void {
      file.write(line);
      foreground?.(readable(line));
    },
  };
  const logger = pino(
    {
      level: options.level ?? "info",
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    destination,
  );
  return { logger, close: () => file.close() };
}

/**
 * A file that is renamed when it is full. Lines that cannot be written are counted; the next written line reports the
 * count.
 */
export class RotatingFile {
  readonly #path: string;
  readonly #fileBytes: number;
  readonly #filesMax: number;
  #fd: number | null = null;
  #bytes = 0;
  #lost = 0;

  constructor(path: string, bounds: Pick<LogOptions, "fileBytes" | "filesMax"> = {}) {
    this.#path = path;
    this.#fileBytes = bounds.fileBytes ?? limits.logBytes;
    this.#filesMax = bounds.filesMax ?? limits.logFilesMax;
  }

  /** Lines lost since the last written one. */
  get lost(): number {
    return this.#lost;
  }

  write(line: string): void {
    const note =
      this.#lost === 0 ? "" : `${JSON.stringify({ level: "warn", msg: `${this.#lost} log lines lost` })}\n`;
    try {
      this.#append(Buffer.from(note + line));
      this.#lost = 0;
    } catch {
      // A full disk must not stop the daemon. The lost line is counted and reported later.
      this.#lost++;
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #append(bytes: Buffer): void {
    let fd = this.#fd ?? this.#open();
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#fileBytes) {
      this.close();
      this.#shift();
      fd = this.#open();
    }
    for (let written = 0; written < bytes.length; ) {
      const count = writeSync(fd, bytes, written);
      if (count === 0) throw new Error("the disk takes no more");
      written += count;
      this.#bytes += count;
    }
  }

  #open(): number {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    // If a pipe is at the path, opening fails instead of waiting.
    const fd = openSync(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    this.#fd = fd;
    this.#bytes = fstatSync(fd).size;
    return fd;
  }

  /** Renames `log` to `log.1` and `log.1` to `log.2`, overwriting the last one. */
  #shift(): void {
    for (let n = this.#filesMax - 1; n > 0; n--) {
      const from = n === 1 ? this.#path : `${this.#path}.${n - 1}`;
      try {
        renameSync(from, `${this.#path}.${n}`);
      } catch (error) {
        // That file does not exist yet.
        if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      }
    }
  }
}

/** Returns a log line for a terminal: time, level if notable, message, fields. */
export function readable(json: string): string {
  const parsed: unknown = JSON.parse(json);
  const fields = new Map<string, unknown>(
    typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : [],
  );
  const take = (name: string): string => {
    const value = fields.get(name);
    fields.delete(name);
    return typeof value === "string" ? value : "";
  };
  const time = take("time").slice(11, 19);
  const level = take("level");
  const message = take("msg");
  fields.delete("pid");
  const words = [...fields].map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const text = [time, level === "info" ? "" : `${level}:`, message, ...words]
    .filter(word => word !== "")
    .join(" ");
  // Names of files and agents may contain control characters, which must not reach the terminal.
  return `${plain(text)}\n`;
}
