// SHA-256 of a stream: crypto.subtle takes whole files only, and is absent where a server is reached without TLS.
const K = new Uint32Array(64);
const START = new Uint32Array(8);
{
  // Fractional parts of the cube and square roots of the first primes.
  const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) >>> 0;
  for (let number = 2, found = 0; found < 64; number++) {
    let prime = true;
    for (let by = 2; by * by <= number; by++) if (number % by === 0) { prime = false; break; }
    if (!prime) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(number));
    K[found++] = fraction(Math.cbrt(number));
  }
}

export class Sha256 {
  constructor() {
    this.state = START.slice();
    this.rest = new Uint8Array(64);
    this.held = 0;
    this.length = 0;
    this.words = new Int32Array(64);
  }

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    if (this.held) {
      at = Math.min(64 - this.held, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.held);
      this.held += at;
      if (this.held < 64) return;
      this.blocks(this.rest, 0, 64);
      this.held = 0;
    }
    const end = at + ((bytes.length - at) & ~63);
    this.blocks(bytes, at, end);
    this.rest.set(bytes.subarray(end));
    this.held = bytes.length - end;
  }

  digest() {
    const padded = new Uint8Array(this.held < 56 ? 64 : 128);
    padded.set(this.rest.subarray(0, this.held));
    padded[this.held] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(this.length / 2 ** 29));
    view.setUint32(padded.length - 4, (this.length << 3) >>> 0);
    this.blocks(padded, 0, padded.length);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  blocks(bytes, from, to) {
    const w = this.words, state = this.state;
    let [a0, b0, c0, d0, e0, f0, g0, h0] = state;
    a0 |= 0; b0 |= 0; c0 |= 0; d0 |= 0; e0 |= 0; f0 |= 0; g0 |= 0; h0 |= 0;
    for (let at = from; at < to; at += 64) {
      for (let i = 0, j = at; i < 16; i++, j += 4) {
        w[i] = (bytes[j] << 24) | (bytes[j + 1] << 16) | (bytes[j + 2] << 8) | bytes[j + 3];
      }
      for (let i = 16; i < 64; i++) {
        const x = w[i - 15], y = w[i - 2];
        const low = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const high = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[i] = (w[i - 16] + low + w[i - 7] + high) | 0;
      }
      let a = a0, b = b0, c = c0, d = d0, e = e0, f = f0, g = g0, h = h0;
      for (let i = 0; i < 64; i++) {
        const of_e = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const first = (h + of_e + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
        const of_a = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const second = (of_a + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g; g = f; f = e; e = (d + first) | 0; d = c; c = b; b = a; a = (first + second) | 0;
      }
      a0 = (a0 + a) | 0; b0 = (b0 + b) | 0; c0 = (c0 + c) | 0; d0 = (d0 + d) | 0;
      e0 = (e0 + e) | 0; f0 = (f0 + f) | 0; g0 = (g0 + g) | 0; h0 = (h0 + h) | 0;
    }
    state.set([a0, b0, c0, d0, e0, f0, g0, h0]);
  }
}
