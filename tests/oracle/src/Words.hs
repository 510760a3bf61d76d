-- SPDX-License-Identifier: Apache-2.0
-- Counts words: laziness, type classes and a few instances of our own.
module Main (main) where

import Data.Char (isAlpha, toLower)
import Data.List (foldl', sortBy)
import qualified Data.Map.Strict as Map
import Data.Ord (comparing)

newtype Table = Table (Map.Map String Int)

instance Semigroup Table where
  Table a <> Table b = Table (Map.unionWith (+) a b)

instance Monoid Table where
  mempty = Table Map.empty

class Measured a where
  measure :: a -> Int

instance Measured Table where
  measure (Table t) = sum (Map.elems t)

instance Measured [a] where
  measure = length

wordsOf :: String -> [String]
wordsOf text = case dropWhile (not . isAlpha) text of
  "" -> []
  rest -> let (word, more) = span isAlpha rest in map toLower word : wordsOf more

table :: [String] -> Table
table = foldl' (\(Table t) w -> Table (Map.insertWith (+) w 1 t)) mempty

most :: Int -> Table -> [(String, Int)]
most n (Table t) = take n (sortBy (comparing (negate . snd)) (Map.toList t))

main :: IO ()
main = do
  text <- getContents
  let parts = map (table . wordsOf) (lines text)
      whole = mconcat parts
  mapM_ (\(w, n) -> putStrLn (show n ++ " " ++ w)) (most 10 whole)
  print (measure whole, measure parts)
