// SPDX-License-Identifier: Apache-2.0
// A program that uses as much of Swift as a name can be of: names.tsv has what `swiftc` made of it.
import Foundation
import Dispatch

protocol Shape { associatedtype Unit; var area: Double { get }; static func make(_ n: Int) -> Self; func scale(by factor: Double) -> Unit; subscript(i: Int) -> Double { get set } }
protocol Named: AnyObject { var name: String { get set } }
protocol Describing { func describe() -> String }
extension Describing { func describe() -> String { "\(Self.self)" } ; func twice() -> String { describe() + describe() } }

struct Square: Shape, Describing, Hashable, Codable {
    typealias Unit = Square
    var side: Double { willSet { print("will", newValue) } didSet { print("did", oldValue) } }
    lazy var cached: [String: Int] = ["a": 1]
    enum CodingKeys: String, CodingKey { case side }
    init(side: Double) { self.side = side }
    init(from d: Decoder) throws { let c = try d.container(keyedBy: CodingKeys.self); side = try c.decode(Double.self, forKey: .side) }
    func encode(to e: Encoder) throws { var c = e.container(keyedBy: CodingKeys.self); try c.encode(side, forKey: .side) }
    static func == (a: Square, b: Square) -> Bool { a.side == b.side }
    func hash(into h: inout Hasher) { h.combine(side) }
    var area: Double { side * side }
    static func make(_ n: Int) -> Square { Square(side: Double(n)) }
    func scale(by factor: Double) -> Square { Square(side: side * factor) }
    subscript(i: Int) -> Double { get { side + Double(i) } set { side = newValue } }
}
class Animal: Named { var name: String; weak var friend: Animal?; unowned(unsafe) var raw: Animal?
    init(name: String) { self.name = name }
    convenience init?(maybe: String?) { guard let m = maybe else { return nil }; self.init(name: m) }
    deinit { print("bye", name) }
    func speak(_ words: String..., loudly: Bool = false, _ then: @escaping (String) throws -> Int) rethrows -> [Int] { try words.map { try then($0) } }
    class func kind() -> String { "animal" }
    private func secret() -> Int { name.count }
    func callSecret() -> Int { secret() }
}
final class Dog: Animal { override func speak(_ words: String..., loudly: Bool = true, _ then: @escaping (String) throws -> Int) rethrows -> [Int] { [] }
    override class func kind() -> String { "dog" } }
class Generic<T: Comparable, U> where U: Collection, U.Element == T { var t: T; var u: U
    init(_ t: T, _ u: U) { self.t = t; self.u = u }
    func biggest() -> T? { u.max() }
    struct Inner<V> { var v: V; var t: T; func pair() -> (V, t: T) { (v, t) }
        enum Deep { case one(V), two(T), three; indirect case four(Deep) } }
    func inner<V>(_ v: V) -> Inner<V> { Inner(v: v, t: t) } }
enum Tree<T> { indirect case node(Tree, Tree); case leaf(T); case empty
    func fold<R>(_ f: (T) -> R, _ g: (R, R) -> R, _ e: R) -> R { switch self { case .leaf(let x): return f(x); case .node(let a, let b): return g(a.fold(f, g, e), b.fold(f, g, e)); case .empty: return e } } }
enum Problem: Error { case bad(Int), worse(String, code: Int), none }
infix operator <+>: AdditionPrecedence
prefix operator √
postfix operator %%
func <+> <T: Numeric>(a: T, b: T) -> T { a + b }
prefix func √ (x: Double) -> Double { x.squareRoot() }
postfix func %% (x: Int) -> Double { Double(x) / 100 }
@propertyWrapper struct Clamped { private var v: Int; let range: ClosedRange<Int>; var wrappedValue: Int { get { v } set { v = min(max(newValue, range.lowerBound), range.upperBound) } }; var projectedValue: Clamped { self }
    init(wrappedValue: Int, _ r: ClosedRange<Int>) { v = wrappedValue; range = r } }
struct Settings { @Clamped(0...10) var volume: Int = 5; static var shared = Settings(); static let names: [String] = ["x", "y"]; var closure: () -> Int = { 7 }; }
actor Counter { var n = 0; func bump(by k: Int = 1) -> Int { n += k; return n }; nonisolated func id() -> String { "c" } }
@MainActor final class Screen { var lines: [String] = []; func draw(_ s: String) async throws { lines.append(s); try await Task.sleep(nanoseconds: 1) } }
func work(_ n: Int) async throws -> Int { try await withThrowingTaskGroup(of: Int.self) { g in for i in 0..<n { g.addTask { try await slow(i) } }; var s = 0; for try await x in g { s += x }; return s } }
func slow(_ i: Int) async throws -> Int { if i > 100 { throw Problem.bad(i) }; await Task.yield(); return i * 2 }
func stream() -> AsyncStream<Int> { AsyncStream { c in for i in 0..<3 { c.yield(i) }; c.finish() } }
func some(_ x: Int) -> some Describing & Hashable { Square(side: Double(x)) }
func any(_ x: any Shape) -> Any.Type { type(of: x) }
func pair<each T>(_ t: repeat each T) -> (repeat Optional<each T>) { (repeat Optional(each t)) }
func typed() throws(Problem) -> Int { throw .none }
func existential(_ c: any Collection<Int>) -> Int { c.count }
func cfun(_ f: @convention(c) (Int32) -> Int32, _ g: @convention(thin) () -> Void) -> Int32 { f(3) }
func auto(_ x: @autoclosure () -> Int, _ y: @autoclosure @escaping () -> String) -> () -> String { print(x()); return y }
func inouts(_ a: inout Int, _ b: __owned Animal, _ c: __shared Animal, d: borrowing Square, e: consuming Square) { a += 1 }
func meta<T>(_ t: T.Type, _ p: any Shape.Type, _ q: Any.Protocol) -> String { "\(t)" }
func sendable(_ f: @Sendable @escaping (Int) async -> Void) {}
func local(_ n: Int) -> Int { struct L { var x: Int; func go() -> Int { func deep(_ k: Int) -> Int { [1,2,3].map { $0 + k }.reduce(0, +) }; return deep(x) } }
    func helper(_ m: Int) -> Int { m > 0 ? helper(m - 1) + 1 : 0 }
    class L2: Animal { override func speak(_ words: String..., loudly: Bool = false, _ then: @escaping (String) throws -> Int) rethrows -> [Int] { [n0] }; let n0 = 4 }
    return L(x: n).go() + helper(n) + (L2(name: "q").callSecret()) }
struct NC: ~Copyable { var fd: Int32; consuming func close() {}; deinit { print("nc") } }
func useNC(_ x: borrowing NC) -> Int32 { x.fd }
func grüße(_ name: String) -> String { "Grüße, \(name)" }
let 数字 = [1, 2, 3]
var globalTable: [String: [Int?]] = { var t: [String: [Int?]] = [:]; for i in 0..<4 { t["\(i)"] = [i, nil] }; return t }()
private var hidden = 4
fileprivate struct Hidden { var a = hidden; func b() -> Int { a + hidden } }
extension Array where Element: Shape { var total: Double { reduce(0) { $0 + $1.area } }; struct Walker { var i = 0; mutating func next(_ a: [Element]) -> Element? { defer { i += 1 }; return i < a.count ? a[i] : nil } } }
extension Dictionary where Value == Int { func sum() -> Int { values.reduce(0, +) } }
extension Optional: Describing where Wrapped: Describing { func describe() -> String { map { $0.describe() } ?? "nil" } }
extension Animal: CustomStringConvertible, Comparable { var description: String { name }; static func < (a: Animal, b: Animal) -> Bool { a.name < b.name }; static func == (a: Animal, b: Animal) -> Bool { a === b } }
extension String { func shout(times n: Int = 2, _ f: ((Character) -> Character)? = nil) -> String { String(repeating: uppercased(), count: n) } }
@dynamicMemberLookup struct Dyn { subscript(dynamicMember k: String) -> Int { k.count }; subscript<T>(dynamicMember k: KeyPath<Square, T>) -> T { Square(side: 1)[keyPath: k] } }
@resultBuilder enum Build { static func buildBlock(_ x: Int...) -> [Int] { x }; static func buildEither(first x: [Int]) -> Int { x.count }; static func buildEither(second x: [Int]) -> Int { -x.count } }
@Build func built(_ b: Bool) -> [Int] { 1; 2; 3 }
struct Modify { var storage: [Int] = []; subscript(i: Int) -> Int { _read { yield storage[i] } _modify { yield &storage[i] } }; var first: Int { _read { yield storage[0] } _modify { yield &storage[0] } } }
func sorted(_ a: [Animal]) -> [Animal] { a.sorted { $0.name.count < $1.name.count } }
func dictionary(_ w: [String]) -> [Character: [String]] { Dictionary(grouping: w) { $0.first! } }
@inline(never) func apply<T, R>(_ x: T, _ f: (T) throws -> R) rethrows -> R { try f(x) }
@inline(never) func deadArgument(_ a: Animal, _ unused: Int, _ b: [Int]) -> Int { b.count }
@_cdecl("c_entry") public func entry(_ p: UnsafeMutablePointer<Int>?, _ n: Int32) -> Int { p?.pointee ?? Int(n) }
func tuples(_ x: (Int, label: String, (Double, [Int])), _ y: ()) -> (a: Int, b: () -> (Int, Int)) { (x.0, { (1, 2) }) }
func unsafe(_ p: UnsafeRawBufferPointer, _ q: UnsafeMutablePointer<Square>, _ o: ObjectIdentifier, _ u: Unmanaged<Animal>) -> Int { p.count }

@main struct Main {
    static func main() async throws {
        let a = [Dog(name: "Rex"), Dog(name: "Ada")]
        print(sorted(a), a[0].speak("x", "y") { $0.count }, Dog.kind(), a[1].callSecret(), a.max()!)
        let g = Generic(3, [1, 2, 5]); print(g.biggest() as Any, g.inner("v").pair(), Generic("a", ["b", "c"]).biggest() as Any)
        let t = Tree.node(.leaf(1), .node(.leaf(2), .empty)); print(t.fold({ "\($0)" }, { $0 + $1 }, "-"), t.fold({ $0 }, +, 0))
        print(1 <+> 2, 1.5 <+> 2, √9, 5%%)
        var s = Settings.shared; s.volume = 40; print(s.volume, s.$volume.wrappedValue, Settings.names, s.closure())
        print(await Counter().bump(by: 3), try await work(4)); for await x in stream() { print(x) }
        print(some(3).hashValue != 0, any(Square(side: 2)), pair(1, "a", 2.0), (try? typed()) as Any, existential([1, 2]), cfun({ $0 + 1 }, {}))
        print(auto(3, "y")(), meta(Int.self, Square.self, Any.self), local(3), grüße("du"), 数字, globalTable, Hidden().b())
        var i = 3; inouts(&i, a[0], a[1], d: Square(side: 1), e: Square(side: 2)); sendable { print($0) }
        print([Square(side: 1), Square(side: 2)].total, ["a": 1].sum(), (Square(side: 2) as Square?).describe(), "hi".shout(), Dyn().abc, Dyn().area, built(true))
        var m = Modify(storage: [1, 2]); m[0] += 1; m.first += 2; print(m.storage, dictionary(["ab", "ac"]), apply(3) { Double($0) }, apply("x", { $0 + "y" }), deadArgument(a[0], 4, [1]))
        print(tuples((1, label: "", (1, [])), ()).b(), useNC(NC(fd: 3)), a.map(\.name), a.sorted(by: \Dog.name, <), try JSONEncoder().encode(Square(side: 2)), Set([Square(side: 1)]).count)
        try await Screen().draw("x")
        do { throw Problem.worse("a", code: 3) } catch Problem.worse(let w, let c) where c > 2 { print(w) } catch { print(error) }
        let kp: WritableKeyPath<Square, Double> = \.side; var q = Square(side: 2); q[keyPath: kp] = 5; print(q[keyPath: \.area], q[keyPath: \.[3]])
        DispatchQueue.global().sync { print("q") }; print(NSString(string: "abc").length, URL(string: "http://a/b")!.path, Date(timeIntervalSince1970: 0))
    }
}
extension Array { func sorted<K>(by p: KeyPath<Element, K>, _ less: (K, K) -> Bool) -> [Element] { sorted { less($0[keyPath: p], $1[keyPath: p]) } } }
