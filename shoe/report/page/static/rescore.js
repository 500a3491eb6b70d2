// Computes SHOE-mAP, SHOE-mF1 and the miss rates with another weight, delta or ensemble, exactly like `shoe score`.
//
// The input is prepared by shoe/report/page/rescoring.py: predictions by decreasing score, as pairs of words; candidate
// pairs of a ground truth and a prediction, in the order in which equally similar pairs are matched; and tables of
// similarities per ensemble. All results depend only on this input and on the three settings.
import { tiedAveragePrecision } from "./tied.js";

const EPSILON = 1e-8; // of Algorithms 1 and 2

const COMBINATIONS = {
  arithmetic: (verb, object, weight) => weight * verb + (1 - weight) * object,
  geometric: (verb, object, weight) => Math.round(verb ** weight * object ** (1 - weight) * 1e12) / 1e12,
  minimum: (verb, object) => Math.min(verb, object),
};

/** Data of one model, and methods to score the model again. */
export class Rescorer {
  constructor(shared, model) {
    this.shared = shared;
    this.model = model;
    this.truths = new Int32Array(shared.counted.length);
    this.classesOf = new Map(); // evaluated classes of each image, ascending
    for (const [t, k] of shared.hoi.entries()) {
      if (!shared.counted[k]) continue;
      this.truths[k]++;
      const image = shared.truth_image[t];
      if (!this.classesOf.has(image)) this.classesOf.set(image, []);
      this.classesOf.get(image).push(k);
    }
    for (const classes of this.classesOf.values()) classes.sort((a, b) => a - b);
    this.size = model.words.length;
    const pairs = model.truth.length;
    this.prediction = new Int32Array(pairs);
    for (let i = 0, at = 0; i < pairs; i++) this.prediction[i] = at += model.step[i];
    // Index of the verb and the object similarity of each candidate pair in the tables.
    this.verbCell = new Int32Array(pairs);
    this.objectCell = new Int32Array(pairs);
    for (let i = 0; i < pairs; i++) {
      const k = shared.hoi[model.truth[i]];
      const words = model.words[this.prediction[i]];
      this.verbCell[i] = shared.verb_row[k] * shared.verb_words + model.pair_verb[words];
      this.objectCell[i] = shared.object_row[k] * shared.object_words + model.pair_object[words];
    }
    this.tied = (p) => (model.tied[p >> 3] >> (7 - (p & 7))) & 1;
    this.sigma = new Float64Array(pairs);
    this.tables = new Map();
  }

  /**
   * Score the model.
   * @param {{weight: number, delta: number, ensemble: number}} settings `ensemble` is the index of the ensemble
   * @returns {{map, mf1, gt_miss_rate, prediction_miss_rate, ap, f1}} fractions; null if a metric is undefined
   */
  score({ weight, delta, ensemble }) {
    const { shared, model } = this;
    const combine = COMBINATIONS[shared.options.combine];
    if (!this.tables.has(ensemble)) this.tables.set(ensemble, this.#tables(shared.ensembles[ensemble]));
    const tables = this.tables.get(ensemble);
    if (this.sortedBy !== `${weight} ${ensemble}`) {
      this.order = this.#sorted(tables, combine, weight);
      this.sortedBy = `${weight} ${ensemble}`;
    }
    const order = this.order;
    const nearest = this.#nearest(tables, combine, weight);
    const falseOf = (scope, at) => {
      const reaches = at === ">=" ? (s) => s >= delta : (s) => s > delta;
      const inImage = (p) => this.#nearestOf(this.classesOf.get(model.image[p]) ?? [], model.words[p], tables, combine, weight);
      const found = scope === "image" ? inImage : (p) => nearest[model.words[p]];
      return (p) => {
        const [k, sigma] = found(p);
        return reaches(sigma) ? k : -1;
      };
    };
    const { options } = shared;
    const forMapOf = falseOf(options["fp-scope"], options["delta-at"]);
    const forF1Of = falseOf(options["f1-fp-scope"], options["f1-delta-at"]);
    const forMap = this.#match(order, model.map_rows, delta, model.not_playing[ensemble]);
    const forF1 =
      model.f1_rows === model.map_rows ? forMap : this.#match(order, model.f1_rows, delta, model.not_playing[ensemble]);
    const ap = this.#averagePrecision(forMap, forMapOf);
    return { ap, map: mean(ap), ...this.#f1(forF1, forF1Of) };
  }

  /** Similarity tables of an ensemble, and a group index per candidate pair: equal similarities, equal group. */
  #tables({ verbs, objects }) {
    const { values } = this.shared;
    const number = new Map();
    const kind = Int32Array.from(this.sigma, (_, i) => {
      const key = verbs[this.verbCell[i]] * values.length + objects[this.objectCell[i]];
      if (!number.has(key)) number.set(key, number.size);
      return number.get(key);
    });
    const kinds = [...number.keys()].map((key) => [values[Math.floor(key / values.length)], values[key % values.length]]);
    const decoded = (codes) => Float64Array.from(codes, (code) => values[code]);
    return { verbs: decoded(verbs), objects: decoded(objects), kind, kinds };
  }

  /** Set sigma of each candidate pair; return the pairs by decreasing sigma, pairs with equal sigma in input order. */
  #sorted({ kind, kinds }, combine, weight) {
    const sigma = kinds.map(([verb, object]) => combine(verb, object, weight));
    const falling = [...new Set(sigma)].sort((a, b) => b - a);
    const rankOf = new Map(falling.map((value, rank) => [value, rank]));
    const rank = Int32Array.from(sigma, (value) => rankOf.get(value));
    const start = new Uint32Array(falling.length + 1);
    for (const of of kind) start[rank[of] + 1]++;
    for (let r = 1; r < start.length; r++) start[r] += start[r - 1];
    const order = new Uint32Array(kind.length);
    for (let i = 0; i < kind.length; i++) {
      order[start[rank[kind[i]]]++] = i;
      this.sigma[i] = sigma[kind[i]];
    }
    return order;
  }

  /** Most similar evaluated class of each pair of words, and the similarity to this class. */
  #nearest(tables, combine, weight) {
    const all = [...this.shared.counted.keys()].filter((k) => this.shared.counted[k]);
    return Array.from(this.model.pair_verb, (_, q) => this.#nearestOf(all, q, tables, combine, weight));
  }

  /** Most similar class of pair of words q among ascending classes, and the similarity; [-1, -1] without a class. */
  #nearestOf(classes, q, { verbs, objects }, combine, weight) {
    const { shared, model } = this;
    let [found, best] = [-1, -1];
    for (const k of classes) {
      const verb = verbs[shared.verb_row[k] * shared.verb_words + model.pair_verb[q]];
      const object = objects[shared.object_row[k] * shared.object_words + model.pair_object[q]];
      const sigma = combine(verb, object, weight);
      if (sigma > best) [best, found] = [sigma, k];
    }
    return [found, best];
  }

  /** Match the first `rows` predictions: repeatedly the best pair whose prediction and ground truth are unmatched. */
  #match(order, rows, delta, notPlaying) {
    const free = new Uint8Array(this.size).fill(1, 0, rows);
    for (const p of notPlaying) free[p] = 0;
    const pair = new Int32Array(this.shared.hoi.length).fill(-1);
    const least = { none: -1, positive: 0, delta }[this.shared.options["min-sigma"]];
    for (const i of order) {
      if (this.sigma[i] <= least) break;
      const p = this.prediction[i];
      const t = this.model.truth[i];
      if (free[p] && pair[t] < 0) {
        free[p] = 0;
        pair[t] = i;
      }
    }
    const truth = new Int32Array(this.size).fill(-1);
    for (let t = 0; t < pair.length; t++) if (pair[t] >= 0) truth[this.prediction[pair[t]]] = t;
    return { rows, pair, truth };
  }

  /** Algorithm 1: AP per class, NaN for classes outside the mean. With ties, AP is the mean over orders. */
  #averagePrecision({ rows, pair, truth }, falseOf) {
    const { shared, model, truths } = this;
    const classes = truths.length;
    const count = new Int32Array(classes);
    const before = new Int32Array(classes); // entries of the class above the current score
    const scoreOf = new Int32Array(classes).fill(-1); // first prediction with the last score seen in the class
    const open = new Array(classes).fill(null); // group of the class at this score, if the group has credit
    const groups = Array.from(truths, () => []);
    for (let p = 0, score = 0; p < rows; p++) {
      if (!this.tied(p)) score = p;
      const t = truth[p];
      const k = t < 0 ? falseOf(p) : shared.hoi[t];
      if (k < 0 || !truths[k]) continue;
      if (scoreOf[k] !== score) {
        scoreOf[k] = score;
        before[k] = count[k];
        open[k] = null;
      }
      count[k]++;
      if (open[k]) open[k].size++;
      const credit = t < 0 ? 0 : this.sigma[pair[t]];
      if (credit > 0) {
        if (!open[k]) {
          open[k] = { above: before[k], size: count[k] - before[k], credits: [], zero: p >= model.zero_from };
          groups[k].push(open[k]);
        }
        open[k].credits.push(credit);
      }
    }
    if (shared.options.missed === "keep") {
      // A missed ground truth is an entry with score 0, so it ties with predictions of score 0.
      for (let t = 0; t < pair.length; t++) {
        const last = pair[t] < 0 && groups[shared.hoi[t]].at(-1);
        if (last && last.zero) last.size++;
      }
    }
    return Float64Array.from(groups, (list, k) => {
      if (truths[k]) return tiedAveragePrecision(list, k, truths[k], EPSILON);
      return shared.counted[k] && shared.options.classes === "all" ? 0 : NaN;
    });
  }

  /** Algorithm 2: F1 per class (NaN for classes outside the mean), mean F1, and the miss rates. */
  #f1({ rows, pair, truth }, falseOf) {
    const { shared, truths } = this;
    const [hits, falses, found] = [0, 1, 2].map(() => new Float64Array(truths.length));
    let missed = 0;
    let all = 0;
    for (let t = 0; t < pair.length; t++) {
      const k = shared.hoi[t];
      if (!shared.counted[k]) continue;
      all++;
      if (pair[t] < 0) {
        missed++;
        continue;
      }
      hits[k] += this.sigma[pair[t]];
      falses[k] += 1 - this.sigma[pair[t]];
      found[k]++;
    }
    let unmatched = 0;
    let charged = 0;
    for (let p = 0; p < rows; p++) {
      if (truth[p] >= 0) continue;
      unmatched++;
      const k = falseOf(p);
      if (k < 0) continue;
      charged++;
      falses[k]++;
    }
    const { recall: denominator, "f1-classes": inMean, "prediction-misses": misses } = shared.options;
    const f1 = Float64Array.from(truths, (number, k) => {
      if (!(number > 0 || (inMean === "counted" && shared.counted[k] && falses[k] > 0))) return NaN;
      const wanted = denominator === "fn" ? hits[k] + number - found[k] : number;
      const precision = hits[k] / (hits[k] + falses[k] + EPSILON);
      const recall = hits[k] / (wanted + EPSILON);
      return (2 * precision * recall) / (precision + recall + EPSILON);
    });
    return {
      f1,
      mf1: mean(f1),
      gt_miss_rate: all ? missed / all : null,
      prediction_miss_rate: rows ? (misses === "charged" ? charged : unmatched) / rows : null,
    };
  }
}

/** Mean of the values that are not NaN; null if all are NaN. */
export function mean(values) {
  let [sum, number] = [0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    number++;
  }
  return number ? sum / number : null;
}
