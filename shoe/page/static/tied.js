// Average precision of a list in which scores tie: the mean over the orders of equal scores.
//
// Orders are listed while there are few, and drawn from then on: by the same random numbers as `shoe score` draws, so
// that the page says the same to the last digits.

const MOST_LISTED = 5040;
const DRAWS = 128;
const MOST_HELD = 2 ** 18; // positions that are remembered, for each draw
const SEED = 20151215;
const MOST = 2 ** 21; // times the upper half of a number: what a number of JavaScript holds exactly

/**
 * All-points average precision.
 * @param groups entries with credit by falling score: {above, size, credits}: entries of a higher score, of the same
 *   score, and the credits of those of them that have any
 * @param number of the class, which seeds what is drawn
 */
export function tiedAveragePrecision(groups, number, truths, epsilon) {
  const length = groups.reduce((all, { credits }) => all + credits.length, 0);
  const ranks = new Float64Array(length);
  const gains = new Float64Array(length);
  const open = [];
  let start = 0;
  for (const { above, size, credits } of groups) {
    const falling = credits.length > 1 ? Float64Array.from(credits).sort().reverse() : credits;
    falling.forEach((credit, i) => {
      ranks[start + i] = above + 1 + i;
      gains[start + i] = credit;
    });
    const certain = falling.length === size && falling[0] === falling[size - 1];
    if (!certain) open.push({ above, size, credits: falling, start });
    start += falling.length;
  }
  if (!open.length) return averagePrecision(ranks, gains, truths, epsilon);
  const orders = open.reduce((all, { size, credits }) => all * permutations(size, credits.length), 1);
  let sum = 0;
  let times = 0;
  for (const positions of orders <= MOST_LISTED ? listed(open) : drawn(open, number)) {
    open.forEach((group, g) => place(group, positions[g], ranks, gains));
    sum += averagePrecision(ranks, gains, truths, epsilon);
    times++;
  }
  return sum / times;
}

/** Put the members of a group on positions of it: their ranks and credits, by ascending rank. */
function place({ above, credits, start }, positions, ranks, gains) {
  const members = credits.length;
  const keys = new Float64Array(members);
  for (let i = 0; i < members; i++) keys[i] = positions[i] * members + i;
  if (members > 1) keys.sort();
  for (let i = 0; i < members; i++) {
    ranks[start + i] = above + 1 + Math.floor(keys[i] / members);
    gains[start + i] = credits[keys[i] % members];
  }
}

/** Area under the envelope of a precision-recall curve, from ascending ranks and their credits. */
export function averagePrecision(ranks, credits, truths, epsilon) {
  let credit = 0;
  for (let i = 0; i < credits.length; i++) credit += credits[i];
  let [highest, area] = [0, 0];
  for (let i = ranks.length - 1; i >= 0; i--) {
    highest = Math.max(highest, credit / (ranks[i] + epsilon));
    area += credits[i] * highest;
    credit -= credits[i];
  }
  return area / (truths + epsilon);
}

function permutations(size, members) {
  let product = 1;
  for (let i = 0; i < members; i++) product *= size - i;
  return product;
}

/** Every way to put the members of each group on positions of it. */
function* listed(groups, chosen = []) {
  if (chosen.length === groups.length) {
    yield chosen;
    return;
  }
  const { size, credits } = groups[chosen.length];
  for (const places of arrangements(size, credits.length)) yield* listed(groups, [...chosen, places]);
}

function* arrangements(size, members, places = []) {
  if (places.length === members) {
    yield places;
    return;
  }
  for (let p = 0; p < size; p++) if (!places.includes(p)) yield* arrangements(size, members, [...places, p]);
}

/** Pairs of random orders that mirror each other. */
function* drawn(groups, number) {
  const rows = groups.map(({ size, credits }, g) => remembered(number * 65536 + g, size, credits.length));
  for (let draw = 0; draw < DRAWS; draw++) {
    const positions = rows.map((row) => row[draw]);
    yield positions;
    yield positions.map((of, g) => of.map((p) => groups[g].size - 1 - p));
  }
}

const drawnBefore = new Map();
let held = 0;

function remembered(stream, size, members) {
  const key = `${stream} ${size} ${members}`;
  if (!drawnBefore.has(key)) {
    held += members;
    if (held > MOST_HELD) {
      drawnBefore.clear();
      held = members;
    }
    drawnBefore.set(key, distinctPositions(stream, size, members));
  }
  return drawnBefore.get(key);
}

function distinctPositions(stream, size, members) {
  const rows = [];
  if (members * members > 2 * size) {
    const numbers = randomNumbers(stream, DRAWS * size);
    for (let row = 0; row < DRAWS; row++) rows.push(argsort(numbers, row * size, size).slice(0, members));
    return rows;
  }
  // Floyd's way to choose a few of many: a position that is taken already gives way to the last one not yet allowed.
  const numbers = randomNumbers(stream, DRAWS * 2 * members);
  for (let row = 0; row < DRAWS; row++) {
    const from = row * 2 * members;
    const chosen = [];
    for (let member = 0; member < members; member++) {
      const last = size - members + member;
      const position = remainder(numbers.high[from + member], numbers.low[from + member], last + 1);
      chosen.push(chosen.includes(position) ? last : position);
    }
    rows.push(argsort(numbers, from + members, members).map((i) => chosen[i]));
  }
  return rows;
}

/** Order of some 64-bit numbers, ascending. */
function argsort({ high, low }, from, size) {
  // The upper half of each with its index as one number, which sorts natively; where halves are equal, by the whole.
  const keys = new Float64Array(size);
  for (let i = 0; i < size; i++) keys[i] = high[from + i] * MOST + i;
  keys.sort();
  const order = Int32Array.from(keys, (key) => key % MOST);
  const unclear = size > MOST || order.some((index, i) => i > 0 && high[from + index] === high[from + order[i - 1]]);
  return unclear ? order.sort((a, b) => high[from + a] - high[from + b] || low[from + a] - low[from + b]) : order;
}

function remainder(high, low, divisor) {
  return ((((high % divisor) * 65536 + (low >>> 16)) % divisor) * 65536 + (low & 65535)) % divisor;
}

/** The first numbers of a stream: SplitMix64 over a counter, each as two halves of 32 bits. */
export function randomNumbers(stream, length) {
  const [high, low] = [new Uint32Array(length), new Uint32Array(length)];
  let at = [stream >>> 0, SEED];
  for (let i = 0; i < length; i++) {
    let mixed = times(shifted(at, 30), [0xbf58476d, 0x1ce4e5b9]);
    mixed = shifted(times(shifted(mixed, 27), [0x94d049bb, 0x133111eb]), 31);
    [high[i], low[i]] = mixed;
    const sum = at[1] + 0x7f4a7c15;
    at = [(at[0] + 0x9e3779b9 + (sum > 0xffffffff ? 1 : 0)) >>> 0, sum >>> 0];
  }
  return { high, low };
}

/** A number, and itself moved to the right, as exclusive or. */
function shifted([high, low], bits) {
  return [(high ^ (high >>> bits)) >>> 0, (low ^ ((high << (32 - bits)) | (low >>> bits))) >>> 0];
}

/** The lower 64 bits of a product. */
function times([aHigh, aLow], [bHigh, bLow]) {
  const [a1, a0, b1, b0] = [aLow >>> 16, aLow & 65535, bLow >>> 16, bLow & 65535];
  const low = a0 * b0;
  const middle = a1 * b0 + Math.floor(low / 65536);
  const other = a0 * b1 + (middle & 65535);
  const high = a1 * b1 + Math.floor(middle / 65536) + Math.floor(other / 65536);
  return [(high + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) >>> 0, Math.imul(aLow, bLow) >>> 0];
}
