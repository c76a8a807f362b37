/** Checksums of lines: CRC-32 in eight hexadecimal digits. */
import { crc32 } from "node:zlib";

/** Returns the CRC-32 of `data` as a line has it. */
export function checksum(data: string | Buffer): string {
  return hex(crc32(data));
}

export function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

/** Whether `bytes[start, end)` is a checksum, a space, and text with that checksum. */
export function isIntact(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 10 || bytes[start + 8] !== 0x20) return false;
  return digitsAt(bytes, start) === crc32(bytes.subarray(start + 9, end));
}

/** Returns the number that eight lower-case hexadecimal digits stand for, or -1. */
function digitsAt(bytes: Buffer, start: number): number {
  let number = 0;
  for (let i = start; i < start + 8; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) number = number * 16 + byte - 0x30;
    else if (byte >= 0x61 && byte <= 0x66) number = number * 16 + byte - 0x57;
    else return -1;
  }
  return number;
}
