import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface LogOptions {
  readonly level?: LogLevel;
  /** In the foreground: every line also goes here, short, for a person. */
  readonly foreground?: (line: string) => void;
  readonly fileBytes?: number;
  readonly filesMax?: number;
}

export interface Log {
  readonly logger: Logger;
  close(): void;
}

/**
 * The daemon's log: lines of JSON in `path`, older ones in `path.1` and so on. Written at once, so that the
 * last line before a crash is there; so nothing is logged for a mere request.
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
 * A file that moves aside when it is full. What cannot be written is counted and said with the next line that
 * can.
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

  /** Lines that could not be written since the last one that could. */
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
      // A full disk must not stop the daemon, and there is no other place to say so: counted, said later.
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
    // A pipe in its place fails instead of being waited for.
    const fd = openSync(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    this.#fd = fd;
    this.#bytes = fstatSync(fd).size;
    return fd;
  }

  /** `log` becomes `log.1`, `log.1` becomes `log.2`; the last one is overwritten. */
  #shift(): void {
    for (let n = this.#filesMax - 1; n > 0; n--) {
      const from = n === 1 ? this.#path : `${this.#path}.${n - 1}`;
      try {
        renameSync(from, `${this.#path}.${n}`);
      } catch (error) {
        // Not so many yet.
        if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      }
    }
  }
}

/** A log line for a terminal: time, level where it matters, message, fields. */
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
  // Names of files and agents are among the words: nothing in them may steer a terminal.
  return `${plain(text)}\n`;
}
