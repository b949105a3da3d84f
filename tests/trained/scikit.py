"""scikit.py: models of scikit-learn, converted by skl2onnx."""

import numpy as np
from cases import ROWS, Case, amounts, missing, named, numbered, rows
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (DictionaryType, DoubleTensorType, FloatTensorType, Int64TensorType,
                                             StringTensorType)
from sklearn import (calibration, cluster, compose, cross_decomposition, decomposition, discriminant_analysis, ensemble,
                     feature_extraction, feature_selection, gaussian_process, impute, linear_model, mixture, multiclass,
                     multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing, random_projection,
                     svm, tree)

OPSET = {"": 18, "ai.onnx.ml": 3}
KINDS = {"f": FloatTensorType, "d": DoubleTensorType, "l": Int64TensorType, "O": StringTensorType}
SMALL = {"n_estimators": 7, "max_depth": 4, "random_state": 0}


def converted(name, model, x, options=None, own=None):
    """The case of a model that was trained; x may be several inputs by name."""
    inputs = x if isinstance(x, dict) else {"x": x}
    types = [(key, KINDS[array.dtype.char]([None, *array.shape[1:]])) for key, array in inputs.items()]
    onnx = to_onnx(model, initial_types=types, options=options and {id(model): options}, target_opset=OPSET)
    return Case(f"scikit-learn {name}", onnx, inputs, own, tolerance_of(model))


def tolerance_of(model):
    """Sums of large numbers of both signs lose digits in floats."""
    if isinstance(model, gaussian_process.GaussianProcessRegressor):
        return 1e-2
    return 1e-3 if isinstance(model, (svm.SVC, svm.NuSVC)) else 1e-4


# ---- Classifiers ----------------------------------------------------------------------------------------------------

NEVER_NEGATIVE = (naive_bayes.MultinomialNB, naive_bayes.ComplementNB, naive_bayes.CategoricalNB)
TWO_MODELS = [("tree", tree.DecisionTreeClassifier(max_depth=3)), ("normal", naive_bayes.GaussianNB())]
CLASSIFIERS = [
    tree.DecisionTreeClassifier(max_depth=5), tree.ExtraTreeClassifier(max_depth=5, random_state=0),
    ensemble.RandomForestClassifier(**SMALL), ensemble.ExtraTreesClassifier(**SMALL),
    ensemble.GradientBoostingClassifier(**SMALL), ensemble.HistGradientBoostingClassifier(max_iter=7),
    ensemble.AdaBoostClassifier(n_estimators=7, random_state=0),
    ensemble.BaggingClassifier(n_estimators=3, random_state=0),
    ensemble.VotingClassifier(TWO_MODELS, voting="soft", flatten_transform=False),
    ensemble.StackingClassifier(TWO_MODELS),
    calibration.CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=3)),
    linear_model.LogisticRegression(max_iter=1000), linear_model.LogisticRegressionCV(max_iter=1000, cv=2),
    linear_model.RidgeClassifier(), linear_model.SGDClassifier(loss="log_loss", random_state=0),
    linear_model.Perceptron(),
    svm.SVC(), svm.SVC(kernel="poly", probability=True, random_state=0), svm.SVC(kernel="linear"),
    svm.SVC(kernel="sigmoid"), svm.NuSVC(nu=0.2), svm.NuSVC(nu=0.2, probability=True, random_state=0), svm.LinearSVC(),
    neighbors.KNeighborsClassifier(), neighbors.KNeighborsClassifier(weights="distance", metric="manhattan"),
    naive_bayes.GaussianNB(), naive_bayes.BernoulliNB(), naive_bayes.MultinomialNB(), naive_bayes.ComplementNB(),
    naive_bayes.CategoricalNB(), neural_network.MLPClassifier((9,), max_iter=60, random_state=0),
    neural_network.MLPClassifier((5, 4), activation="tanh", max_iter=60, random_state=0),
    discriminant_analysis.LinearDiscriminantAnalysis(), discriminant_analysis.QuadraticDiscriminantAnalysis(),
    multiclass.OneVsRestClassifier(linear_model.LogisticRegression())]


def data_for(model):
    if isinstance(model, naive_bayes.CategoricalNB):
        return (np.abs(rows()) // 5).astype(np.int64)
    if isinstance(model, NEVER_NEGATIVE):
        return np.abs(rows())
    if isinstance(model, gaussian_process.GaussianProcessRegressor):
        return rows() / 16
    return missing(rows()) if "HistGradient" in type(model).__name__ else rows()


def classifiers():
    """Numbers of two classes as tensors; words of three, whose probabilities are dictionaries or columns."""
    for model in CLASSIFIERS:
        x = data_for(model)
        can_zip = not isinstance(model, svm.LinearSVC)
        without = {"zipmap": False} if can_zip else None
        yield converted(f"{model}, 2 classes", model.fit(x, numbered(rows(), 2)), x, without)
        yield converted(f"{model}, words", model.fit(x, named(rows(), 3)), x, without)
        for zipmap in (True, "columns") if can_zip else ():
            yield converted(f"{model}, words, zipmap {zipmap}", model, x, {"zipmap": zipmap})


# ---- Regressors -----------------------------------------------------------------------------------------------------

TREE_REGRESSORS = [
    tree.DecisionTreeRegressor(max_depth=5), tree.ExtraTreeRegressor(max_depth=5, random_state=0),
    ensemble.RandomForestRegressor(**SMALL), ensemble.ExtraTreesRegressor(**SMALL),
    ensemble.GradientBoostingRegressor(**SMALL), ensemble.HistGradientBoostingRegressor(max_iter=7),
    ensemble.AdaBoostRegressor(n_estimators=5, random_state=0),
    ensemble.BaggingRegressor(n_estimators=3, random_state=0)]
REGRESSORS = [
    linear_model.LinearRegression(), linear_model.Ridge(), linear_model.Lasso(), linear_model.ElasticNet(),
    linear_model.BayesianRidge(), linear_model.HuberRegressor(), linear_model.SGDRegressor(random_state=0),
    linear_model.QuantileRegressor(), linear_model.RANSACRegressor(random_state=0), linear_model.LassoLars(),
    svm.SVR(), svm.SVR(kernel="poly"), svm.NuSVR(), svm.LinearSVR(),
    neighbors.KNeighborsRegressor(), neighbors.KNeighborsRegressor(weights="distance"),
    gaussian_process.GaussianProcessRegressor(alpha=1.0),
    gaussian_process.GaussianProcessRegressor(gaussian_process.kernels.DotProduct(), alpha=1.0),
    neural_network.MLPRegressor(hidden_layer_sizes=(9,), max_iter=60, random_state=0),
    cross_decomposition.PLSRegression(2)]
OF_TWO_TARGETS = [
    tree.DecisionTreeRegressor(max_depth=5), ensemble.RandomForestRegressor(**SMALL), linear_model.LinearRegression(),
    neighbors.KNeighborsRegressor(), neural_network.MLPRegressor(hidden_layer_sizes=(9,), max_iter=60, random_state=0),
    multioutput.MultiOutputRegressor(linear_model.Ridge())]


def regressors():
    for model in TREE_REGRESSORS + REGRESSORS:
        x = data_for(model)
        yield converted(f"{model}", model.fit(x, amounts(rows())), x)
    for model in OF_TWO_TARGETS:
        yield converted(f"{model}, two targets", model.fit(rows(), amounts(rows(), 2)), rows())
    x, y = rows() / 16, np.round(np.abs(amounts(rows())) + 1)
    for model in (linear_model.PoissonRegressor(), linear_model.GammaRegressor(), linear_model.TweedieRegressor()):
        yield converted(f"{model}", model.fit(x, y), x)


def of_doubles():
    """ONNX Runtime has no doubles for some of them. The converter states a wrong type of what trees give."""
    x, y = rows().astype(np.float64), amounts(rows())
    for model in REGRESSORS:
        yield converted(f"{model} of doubles", model.fit(x, y), x, own=lambda x: [model.predict(x).reshape(-1, 1)])


def outliers():
    for model in (ensemble.IsolationForest(n_estimators=7, random_state=0), svm.OneClassSVM(nu=0.1),
                  neighbors.LocalOutlierFactor(novelty=True), linear_model.SGDOneClassSVM(random_state=0)):
        yield converted(f"{model}", model.fit(rows()), rows())


# ---- What comes before ----------------------------------------------------------------------------------------------

TRANSFORMERS = [
    preprocessing.StandardScaler(), preprocessing.StandardScaler(with_mean=False),
    preprocessing.MinMaxScaler(clip=True),
    preprocessing.MaxAbsScaler(), preprocessing.RobustScaler(), preprocessing.Normalizer("l1"),
    preprocessing.Normalizer("l2"), preprocessing.Normalizer("max"), preprocessing.Binarizer(threshold=0.5),
    preprocessing.PolynomialFeatures(2), preprocessing.PowerTransformer(),
    preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), preprocessing.KBinsDiscretizer(4, encode="ordinal"),
    decomposition.PCA(3), decomposition.PCA(2, whiten=True), decomposition.TruncatedSVD(3), decomposition.KernelPCA(2),
    decomposition.IncrementalPCA(3), cluster.KMeans(4, random_state=0), cluster.MiniBatchKMeans(3, random_state=0),
    mixture.GaussianMixture(3, random_state=0), mixture.BayesianGaussianMixture(n_components=2, random_state=0),
    feature_selection.SelectKBest(k=3), feature_selection.VarianceThreshold(),
    feature_selection.SelectFromModel(tree.DecisionTreeClassifier(random_state=0)),
    feature_selection.RFE(linear_model.LogisticRegression(), n_features_to_select=2),
    random_projection.GaussianRandomProjection(3, random_state=0), neighbors.KNeighborsTransformer(n_neighbors=3),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    ensemble.RandomTreesEmbedding(3, max_depth=2, random_state=0, sparse_output=False),
    neighbors.NeighborhoodComponentsAnalysis(2, random_state=0)]


def transformers():
    x, y = rows(), numbered(rows(), 2)
    for model in TRANSFORMERS:
        yield converted(f"{model}", model.fit(x, y), x)
    for model in (impute.SimpleImputer(), impute.SimpleImputer(strategy="median"), impute.KNNImputer(n_neighbors=2),
                  impute.SimpleImputer(strategy="constant", fill_value=7.0)):
        yield converted(f"{model}", model.fit(missing(x)), missing(x))


def words():
    """Two columns of words."""
    rng = np.random.default_rng(4)
    columns = [["red", "green", "blue"], ["ox", "bull", "cow", "d\u00e9j\u00e0 vu"]]
    return np.array([rng.choice(column, ROWS) for column in columns], object).T.copy()


def encoders():
    x, numbers = words(), np.random.default_rng(5).integers(0, 4, (ROWS, 3))
    for model in (preprocessing.OneHotEncoder(), preprocessing.OneHotEncoder(drop="first"),
                  preprocessing.OneHotEncoder(handle_unknown="ignore"), preprocessing.OrdinalEncoder()):
        yield converted(f"{model} of words", model.fit(x), x)
        yield converted(f"{model} of numbers", model.fit(numbers), numbers)
    y = numbered(rows(), 2)
    for signed in (False, True):
        hasher = feature_extraction.FeatureHasher(16, input_type="string", alternate_sign=signed, dtype=np.float32)
        yield converted(f"{hasher}", hasher, x[:, :1])
    yield converted("TargetEncoder", preprocessing.TargetEncoder(random_state=0).fit(x, y), x)
    yield converted("LabelEncoder of words", preprocessing.LabelEncoder().fit(x[:, 0]), x[:, 0])
    yield converted("LabelEncoder of numbers", preprocessing.LabelEncoder().fit(numbers[:, 0]), numbers[:, 0])
    yield converted("LabelBinarizer", preprocessing.LabelBinarizer().fit(numbers[:, 0]), numbers[:, :1])


def dictionaries():
    entries = [{"wide": 1.0, "high": 2.0}, {"deep": 3.0, "high": 0.5}]
    model = pipeline.make_pipeline(feature_extraction.DictVectorizer(sparse=False), linear_model.LinearRegression())
    kind = DictionaryType(StringTensorType([1]), FloatTensorType([1]))
    onnx = to_onnx(model.fit(entries, [1.0, 2.0]), initial_types=[("x", kind)], target_opset=OPSET)
    yield Case("scikit-learn DictVectorizer", onnx, {"x": entries[1]})


# ---- Texts ----------------------------------------------------------------------------------------------------------

TEXTS = np.array(["The ox pulls the cart", "A cow, a calf and an OX!", "no ox here", "two carts: one ox, two cows",
                  "the the the", "Ox-cart and cow-bell", "a b c", "line\nfeeds, and\ttabs"] * 4, object)
VECTORS = [{}, {"ngram_range": (1, 2)}, {"lowercase": False}, {"token_pattern": "[a-zA-Z]+"},
           {"token_pattern": "[a-z]{3,}"}, {"binary": True}, {"stop_words": ["the", "a"]}, {"max_features": 4},
           {"analyzer": "char"}, {"analyzer": "char", "ngram_range": (2, 3)}]


def texts():
    """Words and letters counted: Tokenizer, StringNormalizer and TfIdfVectorizer. ONNX Runtime needs a locale that is
    there everywhere."""
    kind = [("x", StringTensorType([None]))]
    for maker in (feature_extraction.text.CountVectorizer, feature_extraction.text.TfidfVectorizer):
        for choice in VECTORS:
            model = maker(**choice).fit(TEXTS)
            onnx = to_onnx(model, initial_types=kind, options={id(model): {"locale": "C"}}, target_opset=OPSET)
            yield Case(f"scikit-learn {maker.__name__} {choice}", onnx, {"x": TEXTS})
    vectors = feature_extraction.text.TfidfVectorizer()
    model = pipeline.make_pipeline(vectors, linear_model.LogisticRegression()).fit(TEXTS, ["ox", "cow"] * 16)
    onnx = to_onnx(model, initial_types=kind, options={id(vectors): {"locale": "C"}, id(model): {"zipmap": False}},
                   target_opset=OPSET)
    yield Case("scikit-learn TfidfVectorizer and a classifier", onnx, {"x": TEXTS})


# ---- Several together -----------------------------------------------------------------------------------------------

def pipelines():
    x, y = rows(), named(rows(), 3)
    model = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler(), decomposition.PCA(4),
                                   linear_model.LogisticRegression())
    yield converted("a pipeline with a PCA", model.fit(missing(x), y), missing(x), {"zipmap": False})
    model = pipeline.make_pipeline(preprocessing.MinMaxScaler(), ensemble.RandomForestClassifier(**SMALL))
    yield converted("a pipeline with a forest", model.fit(x, y), x)
    model = pipeline.make_union(preprocessing.StandardScaler(), decomposition.PCA(2))
    yield converted("a union", model.fit(x), x)
    parts = [(preprocessing.StandardScaler(), [0, 2, 3]), ("passthrough", [1]), (preprocessing.MinMaxScaler(), [4, 5])]
    model = pipeline.make_pipeline(compose.make_column_transformer(*parts), ensemble.GradientBoostingRegressor(**SMALL))
    yield converted("columns of numbers and a boosted model", model.fit(x, amounts(x)), x)
    parts = [(preprocessing.OneHotEncoder(), [6]), (preprocessing.OrdinalEncoder(), [7]),
             (impute.SimpleImputer(), [0, 1, 2])]
    model = pipeline.make_pipeline(compose.make_column_transformer(*parts, sparse_threshold=0),
                                   tree.DecisionTreeClassifier(max_depth=4))
    model.fit(np.hstack([missing(x).astype(object), words()]), y)
    yield converted("columns of numbers and words, and a tree", model, {"sizes": missing(x), "words": words()})


def cases():
    for part in (classifiers, regressors, of_doubles, outliers, transformers, encoders, dictionaries, texts, pipelines):
        yield from part()
